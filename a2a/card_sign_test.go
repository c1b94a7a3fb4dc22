package a2a_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	oldpb "github.com/a2aproject/a2a-go/a2apb"
	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"a2a-server/a2a"
	"a2a-server/a2a/agentcard"
	"a2a-server/a2a/internal/card"
	"a2a-server/auth"
	"a2a-server/internal/keyring"
	"a2a-server/task/engine"
)

// everyScheme is a security scheme of each kind.
func everyScheme() []agentcard.SecurityScheme {
	return []agentcard.SecurityScheme{
		{Name: "apiKey", Kind: agentcard.SchemeAPIKey, Header: "X-API-Key", Description: "An API key."},
		{Name: "corp", Kind: agentcard.SchemeOpenID, URL: "https://idp.example/.well-known/openid-configuration", Description: "A token of <corp> & Söhne €"},
		{Name: "jwt", Kind: agentcard.SchemeHTTP, Scheme: "Bearer", Format: "JWT", Description: "A token."},
		{Name: "mtls", Kind: agentcard.SchemeMTLS, Description: "A certificate."},
		{Name: "also", Kind: agentcard.SchemeMTLS, Description: "A certificate, too.", Also: true},
	}
}

// signingWorld is a server that signs its cards, with keys in a folder.
type signingWorld struct {
	*wireServer
	keys   *keyring.Keyring
	folder string
}

func newSigningWorld(t *testing.T, changes ...wireChange) *signingWorld {
	t.Helper()
	w := &signingWorld{folder: filepath.Join(t.TempDir(), "keys")}
	sign := func(_ *engine.Config, c *a2a.Config) {
		var err error
		if w.keys, err = keyring.Open(keyring.Config{Folder: w.folder, Now: c.Now}); err != nil {
			t.Fatal(err)
		}
		c.CardKeys, c.Authenticator = w.keys.Signer(keyring.AgentCard), auth.Func(callerOf)
		c.Card.Security = everyScheme()
		c.SkillsOf = func(_ context.Context, by auth.Principal) ([]agentcard.Skill, error) {
			return []agentcard.Skill{{ID: "of " + by.Subject, Description: "moves <money> & more"}}, nil
		}
	}
	w.wireServer = startWireServer(t, zerolog.Nop(), append([]wireChange{sign}, changes...)...)
	return w
}

func (w *signingWorld) get(t *testing.T, path, who string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	if who != "" {
		headers = append(headers, "X-Who", who)
	}
	return w.ask(t, http.MethodGet, path, "", headers...)
}

// requirements match the member of a card in canonical form that has nothing but empty lists
// of scopes.
var requirements = regexp.MustCompile(`"securityRequirements":\[(\{"schemes":\{("\w+":\{\},?)+\}\},?)+\],`)

// specForm returns a card whose scopes are in the form of the Go SDK in that of the
// specification.
func specForm(card []byte) []byte {
	return bytes.ReplaceAll(bytes.ReplaceAll(card, []byte(`":[]`), []byte(`":{}`)), []byte(`"list":{}`), []byte(`"list":[]`))
}

// payloads returns what the signatures of a served card have to cover: the canonical form
// with the rules of presence of protobuf, and the same without what is empty.
func payloads(t *testing.T, card []byte) (spec, short []byte) {
	t.Helper()
	card = specForm(card)
	var pb a2apb.AgentCard
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(card, &pb); err != nil {
		t.Fatal(err)
	}
	pb.Signatures = nil
	text, err := protojson.Marshal(&pb)
	if err != nil {
		t.Fatal(err)
	}
	form := jsontext.Value(text)
	if err := form.Canonicalize(); err != nil {
		t.Fatal(err)
	}
	spec = form
	return spec, requirements.ReplaceAll(spec, nil)
}

// wantSigned checks the signatures of a served card with the keys that the server publishes,
// and returns them.
func (w *signingWorld) wantSigned(t *testing.T, served []byte) []sdk.AgentCardSignature {
	t.Helper()
	var parsed struct {
		Signatures []sdk.AgentCardSignature `json:"signatures"`
	}
	if err := json.Unmarshal(served, &parsed); err != nil {
		t.Fatal(err)
	}
	published := w.get(t, card.KeysPath, "")
	var keys jose.JSONWebKeySet
	if err := json.Unmarshal(published.Body.Bytes(), &keys); err != nil || published.Code != http.StatusOK {
		t.Fatalf("the keys: %d %s, %v", published.Code, published.Body, err)
	}
	spec, short := payloads(t, served)
	want := [][]byte{short}
	if !bytes.Equal(spec, short) {
		want = append(want, spec)
	}
	if len(parsed.Signatures) != len(want) {
		t.Fatalf("the card has %d signatures, want %d: %s", len(parsed.Signatures), len(want), served)
	}
	for i, sig := range parsed.Signatures {
		jws, err := jose.ParseDetached(sig.Protected+".."+sig.Signature, want[i], []jose.SignatureAlgorithm{jose.ES256})
		if err != nil {
			t.Fatal(err)
		}
		head := jws.Signatures[0].Protected
		if found := keys.Key(head.KeyID); len(found) != 1 || sig.Header != nil {
			t.Errorf("the key %s is not published: %s", head.KeyID, published.Body)
		} else if _, err := jws.Verify(found[0]); err != nil {
			t.Errorf("signature %d: %v, for %s", i, err, want[i])
		}
		if head.ExtraHeaders["typ"] != "JOSE" || head.ExtraHeaders["jku"] != "https://agent.example/a2a"+card.KeysPath || head.Algorithm != "ES256" {
			t.Errorf("the protected header is %+v", head)
		}
	}
	return parsed.Signatures
}

// The card and the extended card are signed, in every form in which they are served.
func TestSignedCards(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*a2a.Config){
		"every scheme":       func(*a2a.Config) {},
		"no authentication":  func(c *a2a.Config) { c.Authenticator, c.Card.Security = nil, nil },
		"form of the Go SDK": func(c *a2a.Config) { c.Card.SecurityForm = agentcard.SecurityGo },
		"schemes left out":   func(c *a2a.Config) { c.Card.SecurityForm = agentcard.SecurityOmit },
		"only 1.0":           func(c *a2a.Config) { c.OnlyV1 = true },
		"awkward texts":      func(c *a2a.Config) { c.Card.Name, c.Card.Description = "a\u2028b<&>", "\U0001F600 \"\\\u0001 é" },
		"an extension": func(c *a2a.Config) {
			c.Card.Extensions, c.Card.RequiredExtensions = []agentcard.Extension{{URI: "urn:x"}}, []string{"urn:x"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newSigningWorld(t, func(_ *engine.Config, c *a2a.Config) { change(c) })
			cards := map[string][]byte{
				"union": w.get(t, "/.well-known/agent-card.json", "").Body.Bytes(),
				"1.0":   w.get(t, "/.well-known/agent-card.json", "", "A2A-Version", "1.0").Body.Bytes(),
			}
			if name != "no authentication" && name != "an extension" {
				cards["extended"] = w.get(t, "/extendedAgentCard", "acme|me|requester").Body.Bytes()
				if !bytes.Contains(cards["extended"], []byte("of me")) {
					t.Fatalf("the extended card is %s", cards["extended"])
				}
			}
			for of, card := range cards {
				sigs := w.wantSigned(t, card)
				if secured := bytes.Contains(card, []byte(`"securityRequirements"`)); (len(sigs) == 2) != secured {
					t.Errorf("%s: %d signatures, and it has security schemes: %v", of, len(sigs), secured)
				}
				wantNoEmptyRequired(t, card)
			}
		})
	}
}

// wantNoEmptyRequired checks what the canonical form relies on: no field that has to be there
// is empty, and no message is empty, apart from lists of scopes.
func wantNoEmptyRequired(t *testing.T, card []byte) {
	t.Helper()
	var pb a2apb.AgentCard
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(specForm(card), &pb); err != nil {
		t.Fatal(err)
	}
	var walk func(m protoreflect.Message)
	walk = func(m protoreflect.Message) {
		for i := range m.Descriptor().Fields().Len() {
			f := m.Descriptor().Fields().Get(i)
			behavior, _ := proto.GetExtension(f.Options(), annotations.E_FieldBehavior).([]annotations.FieldBehavior)
			if slices.Contains(behavior, annotations.FieldBehavior_REQUIRED) && !m.Has(f) {
				t.Errorf("%s is empty", f.FullName())
			}
		}
		if empty := proto.Size(m.Interface()) == 0; empty && m.Descriptor().Name() != "StringList" {
			t.Errorf("a %s is empty", m.Descriptor().FullName())
		}
		m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			switch {
			case f.IsMap() && f.MapValue().Message() != nil:
				v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool { walk(v.Message()); return true })
			case f.IsList() && f.Message() != nil:
				for i := range v.List().Len() {
					walk(v.List().Get(i).Message())
				}
			case !f.IsMap() && !f.IsList() && f.Message() != nil:
				walk(v.Message())
			}
			return true
		})
	}
	walk(pb.ProtoReflect())
}

// JSON-RPC, gRPC and the SDK's transports have the same signatures of the same card.
func TestSignedExtendedCardOnEveryBinding(t *testing.T) {
	t.Parallel()
	w := newSigningWorld(t)
	const who = "acme|me|requester"
	want := w.wantSigned(t, w.get(t, "/extendedAgentCard", who).Body.Bytes())
	rec := w.ask(t, http.MethodPost, "/", `{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"}`, "X-Who", who)
	var rpc struct {
		Result struct {
			Signatures []sdk.AgentCardSignature `json:"signatures"`
		} `json:"result"`
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &rpc); err != nil {
		t.Fatal(err)
	}
	_, at := serveGRPC(t, w.handler, a2a.GRPCConfig{})
	pb, err := service(t, at).GetExtendedAgentCard(metadata.AppendToOutgoingContext(t.Context(), "x-who", who), &a2apb.GetExtendedAgentCardRequest{})
	if err != nil {
		t.Fatal(err)
	}
	// Over gRPC 0.3 it is a card of 0.3, which nobody verifies.
	if old, err := oldpb.NewA2AServiceClient(dialGRPC(t, at)).GetAgentCard(metadata.AppendToOutgoingContext(t.Context(), "x-who", who), &oldpb.GetAgentCardRequest{}); err != nil || old.GetSkills()[0].GetId() != "of me" {
		t.Errorf("over gRPC 0.3: %v, %v", old, err)
	}
	var overGRPC []sdk.AgentCardSignature
	for _, s := range pb.GetSignatures() {
		overGRPC = append(overGRPC, sdk.AgentCardSignature{Protected: s.GetProtected(), Signature: s.GetSignature()})
	}
	for name, got := range map[string][]sdk.AgentCardSignature{"JSON-RPC": rpc.Result.Signatures, "gRPC": overGRPC} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	for _, i := range pb.GetSupportedInterfaces() {
		if i.GetTenant() != "acme" {
			t.Errorf("the interface %v does not name the caller's tenant", i)
		}
	}
	if other := w.get(t, "/extendedAgentCard", "tasks|me|requester").Body.String(); strings.Contains(other, `"tenant"`) {
		t.Errorf("a tenant that no path can name: %s", other)
	}
}

// A card keeps its signature and its ETag until it, or the key, changes: also over a restart.
func TestSignedCardIsStable(t *testing.T) {
	t.Parallel()
	const path = "/.well-known/agent-card.json"
	w := newSigningWorld(t)
	first := w.get(t, path, "")
	tag := first.Header().Get("ETag")
	for range 3 {
		if again := w.get(t, path, ""); again.Body.String() != first.Body.String() || again.Header().Get("ETag") != tag {
			t.Fatal("the same card has another signature")
		}
	}
	if again := w.get(t, path, "", "If-None-Match", tag); again.Code != http.StatusNotModified {
		t.Errorf("If-None-Match: %d", again.Code)
	}
	for i := range 600 { // more than are kept
		w.get(t, "/extendedAgentCard", fmt.Sprintf("acme|%d|requester", i))
	}
	if again := w.get(t, path, ""); again.Header().Get("ETag") != tag {
		t.Error("the card has another signature after many others were signed")
	}
	restarted := newSigningWorld(t, func(_ *engine.Config, c *a2a.Config) {
		keys, err := keyring.Open(keyring.Config{Folder: w.folder, Now: c.Now})
		if err != nil {
			t.Fatal(err)
		}
		c.CardKeys = keys.Signer(keyring.AgentCard)
	})
	if again := restarted.get(t, path, ""); again.Body.String() != first.Body.String() {
		t.Error("after a restart the same card has another signature")
	}
	if _, err := keyring.Rotate(w.folder, keyring.AgentCard, time.Unix(0, w.clock.Load())); err != nil {
		t.Fatal(err)
	}
	if err := w.keys.Reload(); err != nil {
		t.Fatal(err)
	}
	young := w.get(t, path, "")
	if young.Header().Get("ETag") == tag || w.get(t, path, "", "If-None-Match", tag).Code != http.StatusOK {
		t.Error("after the key was replaced the card is the same")
	}
	if later := time.Unix(0, w.clock.Load()).Add(time.Hour).UTC().Format(http.TimeFormat); w.get(t, path, "", "If-Modified-Since", later).Code != http.StatusOK {
		t.Error("a cache that goes by the time keeps the signature of the old key")
	}
	w.wantSigned(t, young.Body.Bytes())
	w.wantSigned(t, first.Body.Bytes()) // the old key is published for a day
	w.clock.Add(int64(keyring.Overlap))
	if err := w.keys.Reload(); err != nil {
		t.Fatal(err)
	}
	if keys := w.get(t, card.KeysPath, "").Body.String(); strings.Count(keys, `"kid"`) != 1 {
		t.Errorf("a day later the keys are %s", keys)
	}
	w.wantSigned(t, young.Body.Bytes())
}

func TestUnsignedCards(t *testing.T) {
	t.Parallel()
	s := startWireServer(t, zerolog.Nop())
	for path, want := range map[string]int{"/.well-known/agent-card.json": http.StatusOK, card.KeysPath: http.StatusNotFound} {
		if rec := s.ask(t, http.MethodGet, path, ""); rec.Code != want || strings.Contains(rec.Body.String(), "signatures") {
			t.Errorf("GET %s: %d %s", path, rec.Code, rec.Body)
		}
	}
	keys, err := keyring.Open(keyring.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a2a.New(a2a.Config{Engine: s.engine, CardKeys: keys.Signer(keyring.AgentCard)}); err == nil || !strings.Contains(err.Error(), "needs a URL") {
		t.Errorf("without a URL: %v", err)
	}
}

// The extended card is for its caller alone, and caches know by which headers it differs.
// The interfaces are in the order of preference, those of 1.0 first.
func TestExtendedCardIsPrivate(t *testing.T) {
	t.Parallel()
	w := newSigningWorld(t, func(_ *engine.Config, c *a2a.Config) { c.Card.GRPC = "agent.example:443" })
	got := w.get(t, "/extendedAgentCard", "acme|me|requester")
	vary := strings.Join(got.Header()["Vary"], ", ")
	if got.Header().Get("Cache-Control") != "private, no-cache" || !strings.Contains(vary, "Authorization") || !strings.Contains(vary, "X-API-Key") {
		t.Errorf("Cache-Control %q, Vary %q", got.Header().Get("Cache-Control"), vary)
	}
	if other := w.get(t, "/extendedAgentCard", "acme|you|requester").Body.String(); !strings.Contains(other, "of you") || strings.Contains(other, "of me") {
		t.Errorf("the card of somebody else: %s", other)
	}
	if nobody := w.get(t, "/extendedAgentCard", ""); nobody.Code != http.StatusUnauthorized || strings.Contains(nobody.Body.String(), "skills") {
		t.Errorf("without a credential: %d %s", nobody.Code, nobody.Body)
	}
	public := w.get(t, "/.well-known/agent-card.json", "").Body.String()
	if strings.Contains(public, "of me") {
		t.Errorf("the card for everybody: %s", public)
	}
	for name, card := range map[string]string{"extended": got.Body.String(), "for everybody": public} {
		var v struct {
			SupportedInterfaces []struct{ ProtocolBinding, ProtocolVersion string } `json:"supportedInterfaces"`
		}
		if err := json.Unmarshal([]byte(card), &v); err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, i := range v.SupportedInterfaces {
			all = append(all, i.ProtocolBinding+" "+i.ProtocolVersion)
		}
		want := []string{"JSONRPC 1.0", "HTTP+JSON 1.0", "GRPC 1.0"}
		if len(all) < len(want) || !slices.Equal(all[:3], want) || slices.ContainsFunc(all[3:], func(i string) bool { return !strings.HasSuffix(i, " 0.3") }) {
			t.Errorf("%s: the interfaces are %q", name, all)
		}
	}
}
