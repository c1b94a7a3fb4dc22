package main

func strictjsonRows() []Row {
	return []Row{
		{
			File:    "internal/strictjson/decode.go",
			What:    "_, twice := m[name]; twice",
			Into:    "_, twice := m[name]; twice && false",
			Promise: "a name that occurs twice is refused",
			Test:    "TestDecodeRefuses/a name twice",
		},
		{
			File:    "internal/strictjson/decode.go",
			What:    "d.depth == MaxDepth",
			Into:    "false",
			Promise: "deep nesting is refused",
			Test:    "TestDecodeRefuses/one level too deep",
		},
		{
			File:    "internal/strictjson/decode.go",
			What:    "if d.pos < len(d.raw) {\n\t\treturn nil, d.syntax",
			Into:    "if false {\n\t\treturn nil, d.syntax",
			Promise: "nothing follows the value",
			Test:    "TestDecodeRefuses/trailing data",
		},
		{
			File:    "internal/strictjson/number.go",
			What:    "len(digits) > longest || n > maxInt",
			Into:    "len(digits) > longest",
			Promise: "an integer that a double cannot hold is refused",
			Test:    "TestDecodeRefuses/integer too large",
		},
		{
			File:    "internal/strictjson/string.go",
			What:    "\t\t\tif r == utf8.RuneError && size <= 1 {",
			Into:    "\t\t\tif r == utf8.RuneError && size < 0 {",
			Promise: "invalid UTF-8 is refused",
			Test:    "TestDecodeRefuses/invalid UTF-8",
		},
		{
			File:    "internal/strictjson/string.go",
			What:    "!ok || pair == utf8.RuneError",
			Into:    "!ok",
			Promise: "half of a surrogate pair is refused",
			Test:    "TestDecodeRefuses/two high surrogates",
		},
		{
			File:    "internal/strictjson/decode.go",
			What:    "d.nested((*decoder).checkArray)",
			Into:    "d.nested((*decoder).array)",
			Promise: "what is only checked is not built",
			Test:    "TestValidateBuildsNothing",
		},
		{
			File:    "internal/strictjson/reader.go",
			What:    "if !member(name) {",
			Into:    "if !member(name) && false {",
			Promise: "an object whose member is refused is not read",
			Test:    "TestReaderRefuses",
		},
		{
			File:    "internal/strictjson/reader.go",
			What:    "ok && !bytes.ContainsAny",
			Into:    "ok || !bytes.ContainsAny",
			Promise: "a fraction that rounds to an integer is none",
			Test:    "TestReaderInteger",
		},
		{
			File:    "internal/strictjson/members.go",
			What:    "if !names.add(name) {",
			Into:    "if !names.add(name) && false {",
			Promise: "a name that occurs twice is refused, also where nothing is built",
			Test:    "TestMembersRefuses/twice",
		},
		{
			File:    "internal/strictjson/members.go",
			What:    "slices.Contains(verbatim, string(name))",
			Into:    "len(verbatim) > 0 || slices.Contains(verbatim, string(name))",
			Promise: "only what is passed on unread may hold integers of any size",
			Test:    "TestMembersRefuses/a large integer elsewhere",
		},
	}
}
