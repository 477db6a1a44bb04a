package catalog

import (
	_ "embed"
	"strings"
	"sync"
)

// The words of pg_get_keywords() and their categories: U unreserved, C may not be
// a function or type name, T may only be one of those, R reserved. Made by
// testdata/keywords.sql.
//
//go:embed keywords.txt
var keywordsText string

type keyword struct{ word, category string }

var keywords = sync.OnceValue(func() []keyword {
	var out []keyword
	for line := range strings.Lines(keywordsText) {
		word, category, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		out = append(out, keyword{word, category})
	}
	return out
})

// quoteIdent is quote_ident: quotes where the name would not be read as it is.
func quoteIdent(name string) string {
	safe := name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == "" &&
		(name[0] < '0' || name[0] > '9')
	for _, k := range keywords() {
		if k.word == name && k.category != "U" {
			safe = false
		}
	}
	if safe {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}
