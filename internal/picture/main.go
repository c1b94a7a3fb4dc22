// Command picture draws the picture of the README: ask, crash, approve, once. It reads in
// light and in dark, because it brings both and its own ground.
package main

import (
	"bytes"
	"log"
	"os"
	"text/template"
)

//go:generate go run . ../../docs/approve-once.svg

// step is one card of the picture, and what of it is on the disk.
type step struct {
	Class, Title string
	Lines        []string
	Disk         string // "": nothing is written
}

var steps = [...]step{
	{"", "ask", []string{"transfer 250 to alice", "needs a person's yes:", "the task waits"}, "question, digest"},
	{"bad", "crash", []string{"kill -9, power cut,", "a new version;", "the server starts again"}, ""},
	{"", "approve", []string{"seconds or weeks later,", "of what was shown,", "to the byte"}, "decision"},
	{"good", "once", []string{"the start is durable", "before the tool runs;", "a second yes: too late"}, "start, result"},
}

const drawing = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 250" width="860" height="250" font-family="system-ui,sans-serif" role="img" aria-labelledby="t">
<!-- written by internal/picture: go generate ./internal/picture -->
<title id="t">ask, crash, approve, once</title>
<style>
.ground{fill:#f6f8fa}.card{fill:#fff;stroke:#8c959f}.title{fill:#1f2328;font-size:20px;font-weight:600}.line{fill:#57606a;font-size:13px}
.arrow{stroke:#57606a;stroke-width:2;fill:none}.disk{fill:#ddf4ff;stroke:#0969da}.row{fill:#0550ae;font-size:14px}
.bad .card{stroke:#cf222e;stroke-dasharray:5 4}.bad .title{fill:#cf222e}.good .card{stroke:#1a7f37;stroke-width:2}.good .title{fill:#1a7f37}
@media (prefers-color-scheme:dark){.ground{fill:#161b22}.card{fill:#0d1117;stroke:#6e7681}.title{fill:#e6edf3}.line{fill:#9da7b3}
.arrow{stroke:#9da7b3}.disk{fill:#0c2d6b;stroke:#58a6ff}.row{fill:#a5d6ff}.bad .card{stroke:#ff7b72}.bad .title{fill:#ff7b72}.good .card{stroke:#3fb950}.good .title{fill:#3fb950}}
</style>
<rect class="ground" width="860" height="250" rx="12"/>
<rect class="disk" x="20" y="190" width="820" height="40" rx="6"/>
<text class="row" x="226" y="215" text-anchor="start">on the disk, whatever happens</text>
{{range $i, $s := .}}{{$x := x $i}}<g class="{{$s.Class}}" transform="translate({{$x}} 20)">
<rect class="card" width="185" height="120" rx="8"/>
<text class="title" x="16" y="32">{{$s.Title}}</text>
{{range $n, $line := $s.Lines}}<text class="line" x="16" y="{{y $n}}">{{$line}}</text>
{{end}}{{with $s.Disk}}<path class="arrow" d="M92 122v44m-5-7 5 7 5-7"/>
<text class="row" x="92" y="195" text-anchor="middle">{{.}}</text>
{{end}}{{if $i}}<path class="arrow" d="M-24 60h21m-7-5 7 5-7 5"/>
{{end}}</g>
{{end}}</svg>
`

func main() {
	t, err := template.New("picture").Funcs(template.FuncMap{
		"x": func(i int) int { return 20 + i*212 },
		"y": func(n int) int { return 60 + n*21 },
	}).Parse(drawing)
	var picture bytes.Buffer
	if err == nil {
		err = t.Execute(&picture, steps)
	}
	if err == nil && len(os.Args) != 2 {
		log.Fatal("usage: picture FILE")
	}
	if err == nil {
		err = os.WriteFile(os.Args[1], picture.Bytes(), 0o644) //nolint:gosec // a document
	}
	if err != nil {
		log.Fatal(err)
	}
}
