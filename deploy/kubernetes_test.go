package deploy

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// lastWords is what tools have when limits.grace is over, and what the rest of a shutdown
// takes.
const lastWords = 2 * time.Second

// defaultGrace is that of limits.grace.
const defaultGrace = 8 * time.Second

// manifests are what kubernetes.yaml has, in the types of Kubernetes.
type manifests struct {
	deployment appsv1.Deployment
	service    corev1.Service
	claim      corev1.PersistentVolumeClaim
	config     corev1.ConfigMap
	policy     networkingv1.NetworkPolicy
}

func kubernetes(t *testing.T) *manifests {
	t.Helper()
	var m manifests
	for _, text := range strings.Split(read(t, "kubernetes.yaml"), "\n---\n") {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(text), &kind); err != nil {
			t.Fatal(err)
		}
		into := map[string]any{"Deployment": &m.deployment, "Service": &m.service, "PersistentVolumeClaim": &m.claim, "ConfigMap": &m.config, "NetworkPolicy": &m.policy}[kind.Kind]
		if into == nil {
			t.Fatalf("kubernetes.yaml has a %s, which nothing here knows", kind.Kind)
		}
		if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
			t.Fatalf("%s: %v", kind.Kind, err)
		}
	}
	return &m
}

// What the manifests say is what Kubernetes knows, and fits together.
func TestKubernetes(t *testing.T) {
	t.Parallel()
	m := kubernetes(t)
	d := m.deployment.Spec
	pod := d.Template.Spec
	if len(pod.Containers) != 1 || len(pod.Volumes) != 3 || len(pod.Containers[0].VolumeMounts) != 3 {
		t.Fatalf("the pod has %d containers and the volumes %+v, want one container, with data, configuration and keys", len(pod.Containers), pod.Volumes)
	}
	c := pod.Containers[0]
	if d.Replicas == nil || *d.Replicas != 1 || d.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		t.Error("two processes may have the data folder at once: want one replica and Recreate")
	}
	for key, value := range d.Selector.MatchLabels {
		if d.Template.Labels[key] != value || m.service.Spec.Selector[key] != value {
			t.Errorf("the label %s: %s is not that of the pod and of the service", key, value)
		}
	}
	volume := pod.Volumes[0]
	if volume.PersistentVolumeClaim == nil || volume.PersistentVolumeClaim.ClaimName != m.claim.Name || c.VolumeMounts[0].Name != volume.Name || c.VolumeMounts[0].MountPath != "/data" {
		t.Errorf("the data folder is not that of the claim: %+v, %+v", pod.Volumes, c.VolumeMounts)
	}
	if user := pod.SecurityContext; user == nil || *user.RunAsUser != 65532 || *user.FSGroup != 65532 || !*user.RunAsNonRoot {
		t.Errorf("the user is %+v, want that of the image", user)
	}
	for name, probe := range map[string]*corev1.Probe{"/livez": c.LivenessProbe, "/livez at the start": c.StartupProbe, "/readyz": c.ReadinessProbe} {
		path, _, _ := strings.Cut(name, " ")
		if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != path || probe.HTTPGet.Port.StrVal != c.Ports[0].Name {
			t.Errorf("the probe of %s is %+v", name, probe)
		}
	}
	if len(m.service.Spec.Ports) != len(c.Ports) || c.Ports[0].ContainerPort != 8080 {
		t.Errorf("the service calls %+v, the container has %+v", m.service.Spec.Ports, c.Ports)
	}
	keys := pod.Volumes[2].Secret
	if pod.Volumes[1].ConfigMap == nil || pod.Volumes[1].ConfigMap.Name != m.config.Name || keys == nil || *keys.DefaultMode != 0o440 {
		t.Errorf("the volumes are %+v, want the configuration, and keys that only the server's group reads", pod.Volumes[1:])
	}
	for i, v := range pod.Volumes {
		if c.VolumeMounts[i].Name != v.Name {
			t.Errorf("mount %d is %+v, want that of %s", i, c.VolumeMounts[i], v.Name)
		}
	}
	for key, value := range m.policy.Spec.PodSelector.MatchLabels {
		if d.Template.Labels[key] != value {
			t.Errorf("the policy is for pods with %s: %s, which this one has not", key, value)
		}
	}
	if in := m.policy.Spec.Ingress; len(m.policy.Spec.PodSelector.MatchLabels) == 0 || len(in) != len(c.Ports) {
		t.Errorf("the policy is %+v, want one with each port of the pod", m.policy.Spec)
	}
	for n, in := range m.policy.Spec.Ingress {
		if len(in.From) == 0 || in.Ports[0].Port.StrVal != c.Ports[n].Name || m.service.Spec.Ports[n].TargetPort.StrVal != c.Ports[n].Name {
			t.Errorf("the policy is %+v, want one that names who reaches the port %s of the pod", in, c.Ports[n].Name)
		}
	}
	var env []string
	grace := defaultGrace
	for _, v := range c.Env {
		env = append(env, v.Name+"="+v.Value)
		if v.Name == "A2A_SERVER_LIMITS_GRACE" {
			var err error
			if grace, err = time.ParseDuration(v.Value); err != nil {
				t.Error(err)
			}
		}
	}
	if given := time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second; given <= grace+lastWords {
		t.Errorf("the pod is killed after %v, and the server needs up to %v", given, grace+lastWords)
	}
	valid(t, env, m.config.Data["a2a-server.yaml"])
}

// valid wants settings that the server takes, beside those of the image, and which do not
// let everybody in.
func valid(t *testing.T, env []string, config string) {
	t.Helper()
	i, dir := unpack(t, chroot(t)), chroot(t)
	env = append(env, "A2A_SERVER_CONFIG="+write(t, dir, "a2a-server.yaml", config), "A2A_SERVER_AUTH_KEYS_FILE="+write(t, dir, "keys.yaml", "[]\n"))
	for _, setting := range slices.Concat(env, strings.Split(config, "\n")) {
		if strings.Contains(strings.ToLower(setting), "insecure") {
			t.Errorf("authentication is off: %s", setting)
		}
	}
	cmd := exec.Command(program(t), "config", "check")
	cmd.Env = slices.Concat(i.env, env)
	if said, code := run(t, cmd); code != 0 || !strings.HasSuffix(said, "the configuration is valid\n") {
		t.Errorf("with %q the server says:\n%s", env, said)
	}
}
