package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
)

// writeSBOM writes the modules that the linker put into a program, as CycloneDX.
func (s *source) writeSBOM(to, on string, program []byte) error {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return fmt.Errorf("read the modules of the program: %w", err)
	}
	bom := cdx.NewBOM()
	bom.SerialNumber = uuid.NewSHA1(uuid.NameSpaceURL, fmt.Appendf(nil, "a2a-server %s %s %s %s", s.version, s.commit, on, info.GoVersion)).URN()
	of := goModule(info.Main.Path, s.version, "")
	of.Type = cdx.ComponentTypeApplication
	of.Properties = &[]cdx.Property{{Name: "go:platform", Value: on}, {Name: "git:commit", Value: s.commit}}
	bom.Metadata = &cdx.Metadata{Timestamp: s.at.UTC().Format(time.RFC3339), Component: &of}
	parts := []cdx.Component{goModule("std", strings.TrimPrefix(info.GoVersion, "go"), "")}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		parts = append(parts, goModule(m.Path, m.Version, m.Sum))
	}
	refs := make([]string, len(parts))
	for i, p := range parts {
		refs[i] = p.BOMRef
	}
	bom.Components = &parts
	bom.Dependencies = &[]cdx.Dependency{{Ref: of.BOMRef, Dependencies: &refs}}
	var text bytes.Buffer
	if err := cdx.NewBOMEncoder(&text, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return err
	}
	return write(to, text.Bytes())
}

// goModule returns a module of Go; sum is its line of go.sum ("h1:…"), a SHA-256.
func goModule(path, version, sum string) cdx.Component {
	purl := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	c := cdx.Component{BOMRef: purl, Type: cdx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: purl, Scope: cdx.ScopeRequired}
	if text, ok := strings.CutPrefix(sum, "h1:"); ok {
		if raw, err := base64.StdEncoding.DecodeString(text); err == nil {
			c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(raw)}}
		}
	}
	return c
}
