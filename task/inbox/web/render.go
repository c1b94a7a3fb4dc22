package web

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"a2a-server/internal/visible"
)

//go:embed assets
var assets embed.FS

// kept are the content types of the files that browsers keep: their addresses have [keptHash].
var kept = map[string]string{"style.css": "text/css; charset=utf-8", "app.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml"}

// content returns the content of a file.
func content(name string) []byte {
	raw, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return raw
}

// keptHash returns the hash of the files that browsers keep.
var keptHash = sync.OnceValue(func() string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		sum.Write(content(name))
	}
	return hex.EncodeToString(sum.Sum(nil))[:16]
})

// static serves a file. It needs no caller: the file is the same for every reader.
func (p *pages) static(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	kind, ok := kept[name]
	if !ok || r.PathValue("hash") != keptHash() {
		refuse(w, notFound("this file belongs to another version of the page: load the page again"))
		return
	}
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	p.answer(w, r, http.StatusOK, kind, content(name))
}

// parsed has the templates of the pages by the base of their links. Servers of one program share
// them: parsing takes longer than everything else that makes a server.
var parsed = struct {
	sync.Mutex
	pages map[string]map[string]*template.Template
}{pages: map[string]map[string]*template.Template{}}

// parse returns the template of each page. Links begin with base.
func parse(base string) map[string]*template.Template {
	parsed.Lock()
	defer parsed.Unlock()
	if all := parsed.pages[base]; all != nil {
		return all
	}
	shared := template.Must(template.New("").Funcs(template.FuncMap{
		"at":   func(path string) string { return base + path },
		"runs": runs, "lines": lines, "clip": func(n int, s string) []run { return runs(shorten(s, n)) }, "plain": visible.Line, "clipped": func(s string) string { return shorten(s, 200) }, "tree": tree, "json": func(s string) json.RawMessage { return json.RawMessage(s) }, "gate": gateName, "list": func(all ...any) []any { return all },
	}).ParseFS(assets, "assets/frame.html", "assets/parts.html"))
	all := map[string]*template.Template{}
	for _, name := range []string{"inbox", "approval", "edit", "batch", "results", "tasks", "task", "prompt", "try", "history", "grants", "policy", "about", "error", "signin"} {
		all[name] = template.Must(template.Must(shared.Clone()).ParseFS(assets, "assets/"+name+".html"))
	}
	parsed.pages[base] = all
	return all
}

// render answers with a page.
func (p *pages) render(w http.ResponseWriter, r *http.Request, status int, name string, f *frame) error {
	f.Nonce, f.UI, f.Static, f.Now = rand.Text(), p.cfg.Prefix+Path, p.link("/static/"+keptHash()), p.cfg.Now().UnixMilli()
	var b bytes.Buffer
	if err := p.templates[name].ExecuteTemplate(&b, "frame", f); err != nil {
		p.cfg.Log.Error().Err(err).Str("page", name).Msg("a page cannot be made")
		secure(w, "")
		http.Error(w, "The page cannot be rendered: the server's log has the reason.", http.StatusInternalServerError)
		return nil
	}
	secure(w, f.Nonce)
	p.answer(w, r, status, "text/html; charset=utf-8", b.Bytes())
	return nil
}

// compressed is the length from which an answer is compressed.
const compressed = 1400

// answer sends a whole answer. Pages are compressed: they have no secret that a guess in the
// same page could confirm.
func (p *pages) answer(w http.ResponseWriter, r *http.Request, status int, kind string, body []byte) {
	h := w.Header()
	h.Add("Vary", "Accept-Encoding")
	if len(body) > compressed && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, err := z.Write(body)
		if z.Close() == nil && err == nil {
			h.Set("Content-Encoding", "gzip")
			body = b.Bytes()
		}
	}
	_ = p.cfg.Door.Requests.Answer(w, status, kind, body) // the client is gone if it fails
}
