package deploy

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

// What the Compose file says is what Compose knows, and fits to the server.
func TestCompose(t *testing.T) {
	t.Parallel()
	path, err := filepath.Abs("compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	i := unpack(t, chroot(t))
	_, version, _ := strings.Cut(i.tag, ":")
	p, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir: filepath.Dir(path), ConfigFiles: []types.ConfigFile{{Filename: path}}, Environment: types.Mapping{"VERSION": version},
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.GetService("a2a-server")
	if err != nil {
		t.Fatal(err)
	}
	var env []string
	for name, value := range s.Environment {
		env = append(env, name+"="+*value)
	}
	valid(t, env, read(t, "container.yaml"))
	if given := time.Duration(*s.StopGracePeriod); given < defaultGrace+lastWords {
		t.Errorf("the container is killed after %v, and the server needs up to %v", given, defaultGrace+lastWords)
	}
	if s.Image != i.tag {
		t.Errorf("the image is %s, want that of the release, %s", s.Image, i.tag)
	}
	if len(s.Ports) != 1 || s.Ports[0].HostIP != "127.0.0.1" || s.Ports[0].Target != 8080 {
		t.Errorf("the ports are %+v, want that of the server, for this machine alone", s.Ports)
	}
	if len(s.Volumes) != 2 || s.Volumes[0].Target != "/data" || len(p.Volumes) != 1 {
		t.Errorf("the volumes are %+v of %+v, want the data folder and the configuration", s.Volumes, p.Volumes)
	}
	mounted := s.Volumes[1]
	if mounted.Source != filepath.Dir(path) || !mounted.ReadOnly || filepath.Join(mounted.Target, "container.yaml") != *s.Environment["A2A_SERVER_CONFIG"] {
		t.Errorf("%+v is not the configuration of %q", mounted, *s.Environment["A2A_SERVER_CONFIG"])
	}
}
