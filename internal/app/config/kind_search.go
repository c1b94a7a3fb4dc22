package config

import (
	"path/filepath"
	"time"

	"a2a-server/internal/setting"
	"a2a-server/internal/strictyaml"
)

// KindSearch is the kind of tools that search documents.
const KindSearch Kind = "search"

// SearchTool has the values of keys that only searches have.
type SearchTool struct {
	Folder     string   // absolute
	Folders    []string // absolute
	Memory     bool     // the caller's earlier tasks instead of folders
	Extensions []string // of files, without a dot
	Refresh    time.Duration
}

func searchKind() toolKind {
	return toolKind{
		name: KindSearch,
		keys: func(t *Tool) []key {
			own := Own[SearchTool](t)
			return []key{
				t.nameKey(KindSearch, "Name of a tool that searches documents by their words."),
				t.descriptionKey(),
				file("folder", &own.Folder, "Folder whose files are searched, with those below it. Write this, folders or memory."),
				many("folders", "", &own.Folders, func(to *string) setting.Value {
					return setting.Text(to, "a path", setting.NotEmpty("a path"), setting.OneLine)
				}, "Several folders; paths of results begin with the folder's name."),
				one("memory", "false", setting.Bool(&own.Memory), "Searches the caller's earlier tasks of the context instead."),
				many("extensions", "md,markdown,txt,html,htm,json", &own.Extensions, func(to *string) setting.Value { return setting.Text(to, "an extension such as md", anExtension) },
					"Extensions of the files that are searched."),
				one("refresh", "10s", setting.Duration(&own.Refresh, time.Second), "How old the index may be before a search looks for changed files."),
				t.timeoutKey(),
				t.approveKey(),
			}
		},
		check: func(l *loader, t *Tool, n strictyaml.Node) { checkSearch(l, Own[SearchTool](t), n) },
	}
}

var anExtension = matching(`^[A-Za-z0-9_+-]{1,20}$`, "%s is not an extension; write it without a dot, as in md")

// checkSearch checks what is searched, and makes paths absolute.
func checkSearch(l *loader, own *SearchTool, n strictyaml.Node) {
	in, given := n.Path()+".", 0
	for _, is := range []bool{l.given(in + "folder"), l.given(in + "folders"), own.Memory} {
		if is {
			given++
		}
	}
	switch {
	case given == 0:
		n.Add("names nothing to search; write folder: ./docs")
	case given > 1:
		n.Add("has more than one of folder, folders and memory; keep one of them, and make the others entries of their own")
	case l.given(in+"folders") && len(own.Folders) == 0 && l.sound(in+"folders"):
		l.at(in+"folders", "is empty; write [./docs, ./manuals]")
	}
	if own.Memory {
		for _, name := range []string{"extensions", "refresh"} {
			if l.given(in + name) {
				l.atKey(in+name, "has no effect, because no files are searched; remove it")
			}
		}
	}
	names := map[string]string{}
	for i := range own.Folders {
		path := &own.Folders[i]
		l.locate(in+"folders", path)
		name := filepath.Base(*path)
		if first, twice := names[name]; twice {
			l.at(in+"folders", "%s and %s have the same name, so that the paths of results would not tell them apart; rename one, or make it an entry of its own", quote(first), quote(*path))
		}
		names[name] = *path
	}
}
