package interop

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// The audience of the tokens that idp/idp.mjs makes.
const audience = "https://a2a.example"

// idp is a provider of OpenID Connect tokens that was not written here.
type idp struct{ issuer string }

// startIDP starts the provider, which ends with the test. kind is the type that its access
// tokens name, "" for that of RFC 9068.
func startIDP(t *testing.T, p programs, kind string) *idp {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Minute)
	cmd := exec.CommandContext(ctx, p.node, p.idp, kind)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		defer cancel()
		if err := stdin.Close(); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("the provider of tokens ended with %v:\n%s", err, stderr.String())
		}
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the provider of tokens says nothing: %v", err)
	}
	return &idp{issuer: strings.TrimSpace(line)}
}

// tokens is the answer of the token endpoint.
type tokens struct {
	Access string `json:"access_token"`
	ID     string `json:"id_token"`
	Error  string `json:"error"`
	Why    string `json:"error_description"`
}

// ask asks the token endpoint.
func (p *idp) ask(t *testing.T, client string, form url.Values) tokens {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.issuer+"/token", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth(client, "secret-of-"+client)
	resp, err := (&http.Client{Timeout: time.Minute}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer tokens
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.Access == "" {
		t.Fatalf("token endpoint: %s %s: %s (%v)", resp.Status, answer.Error, answer.Why, err)
	}
	return answer
}

// program returns the token of a program for itself.
func (p *idp) program(t *testing.T) string {
	t.Helper()
	return p.ask(t, "agent", url.Values{"grant_type": {"client_credentials"}, "scope": {"call"}}).Access
}

// user logs somebody in, as their browser does, and returns the tokens of the client "web".
func (p *idp) user(t *testing.T, name string) tokens {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{
		Jar: jar, Timeout: time.Minute,
		CheckRedirect: func(r *http.Request, _ []*http.Request) error {
			if r.URL.Host == "web.example" { // the client, which is not there
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
	const verifier = "a-verifier-of-at-least-forty-three-characters"
	sum := sha256.Sum256([]byte(verifier))
	resp, err := browser.Get(p.issuer + "/auth?" + url.Values{
		"client_id": {"web"}, "response_type": {"code"}, "redirect_uri": {"https://web.example/back"}, "scope": {"openid call"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}.Encode())
	for _, form := range []url.Values{{"prompt": {"login"}, "login": {name}, "password": {"any"}}, {"prompt": {"consent"}}} {
		if err != nil {
			t.Fatal(err)
		}
		page, readErr := io.ReadAll(resp.Body)
		if readErr = errors.Join(readErr, resp.Body.Close()); readErr != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %v\n%s", resp.Request.URL, resp.Status, readErr, page)
		}
		resp, err = browser.PostForm(resp.Request.URL.String(), form)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	back, err := resp.Location()
	if err != nil || back.Query().Get("code") == "" {
		t.Fatalf("no code for %s in %s: %v", name, fmt.Sprint(back), err)
	}
	return p.ask(t, "web", url.Values{
		"grant_type": {"authorization_code"}, "code": {back.Query().Get("code")}, "redirect_uri": {"https://web.example/back"}, "code_verifier": {verifier},
	})
}
