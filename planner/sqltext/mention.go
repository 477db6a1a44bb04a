package sqltext

import "strings"

// namePrefix is what the names of all the proxy's functions begin with.
const namePrefix = "raisin_"

// HasPrefix says whether a name begins like those of the proxy's functions, in any case of
// its letters.
func HasPrefix(name string) bool {
	return len(name) >= len(namePrefix) && FoldsTo(name[:len(namePrefix)], namePrefix)
}

// BranchSetting is the setting that holds the branch of a session.
const BranchSetting = "app.branch"

// MentionsProxyText says whether the bytes of a text could be about the proxy, whatever the
// settings are that it is to be read by: whether Concerns could find something in it. It
// is what every relayed text pays, and where most of them end: it takes a fraction of a
// nanosecond for a byte, so that texts of megabytes are let through on its word.
func MentionsProxyText(text string) bool {
	for _, word := range proxyWords {
		for i := 0; ; i++ {
			n := strings.IndexByte(text[i:], word.text[word.rare])
			if n < 0 {
				break
			}
			i += n
			start := i - word.rare
			end := start + len(word.text)
			if start >= 0 && end <= len(text) && strings.EqualFold(text[start:end], word.text) {
				return true
			}
		}
	}
	return false
}

// proxyWords are what must be in a text that is about the proxy. They are looked
// for by the byte that is the rarest in SQL, in either case.
var proxyWords = []struct {
	text string
	rare int
}{
	{namePrefix, len(namePrefix) - 1},
	{"branch", 0},
	{"BRANCH", 0},
	{"u&", 1}, // U&"\0072aisin_…" hides a name
}

// Concerns says whether one of the proxy's functions, the branch, or USE stands in a text,
// as far as that can be told without parsing.
func (t *Text) Concerns() bool {
	if !MentionsProxyText(t.SQL) {
		return false
	}
	a := t.aboutIt()
	return a.Mentions || a.Use || a.Branch
}
