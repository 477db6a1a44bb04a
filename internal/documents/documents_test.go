package documents

import (
	"reflect"
	"testing"
)

func TestBlocks(t *testing.T) {
	got, err := Blocks("a\n```console postgres\n$ true\n```\n```toml not-run=\"needs certificates\"\n# raisin.toml\n```\n")
	want := []Block{
		{Language: "console", Words: []string{"postgres"}, Text: "$ true\n", Line: 3},
		{Language: "toml", NotRun: "needs certificates", Text: "# raisin.toml\n", Line: 6},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v, %v", got, err)
	}
	if name := got[1].File(); name != "raisin.toml" {
		t.Errorf("the file is %q", name)
	}
	for _, bad := range []string{"```console\n$ true\n", "```console not-run=no\n```\n"} {
		if blocks, err := Blocks(bad); err == nil {
			t.Errorf("%q is read as %+v", bad, blocks)
		}
	}
}

func TestEntries(t *testing.T) {
	const text = "$ psql\nshop=> SELECT\nshop-> 1;\n 1\n\nshop=*> \\q\n$ true\n"
	got, err := Entries(text)
	want := []Entry{
		{"$ ", "psql", ""}, {"shop=> ", "SELECT", ""}, {"shop-> ", "1;", " 1\n\n"}, {"shop=*> ", `\q`, ""}, {"$ ", "true", ""},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v, %v", got, err)
	}
	if again := Transcript(got); again != text {
		t.Errorf("written again it is %q", again)
	}
	if _, err := Entries("output\n$ true\n"); err == nil {
		t.Error("output before a prompt is accepted")
	}
}

func TestCutPrompt(t *testing.T) {
	if output, prompt, ok := CutPrompt(" 1\n\nshop=!> "); !ok || output != " 1\n\n" || prompt != "shop=!> " {
		t.Errorf("%q, %q, %t", output, prompt, ok)
	}
	if _, _, ok := CutPrompt("shop=> SELECT"); ok {
		t.Error("an echo is taken for a prompt")
	}
}

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		shown, got string
		want       bool
	}{
		{" t | 1795973876149239 | 1795973881149 \n", " t | 1795973876149240 | 1795973881150\n", true},
		{"1795973876149239 1795973876149239", "1795973876149240 1795973876149240", true},
		{"1795973876149239 1795973876149239", "1795973876149240 1795973876149241", false},
		{"1795973876149239", "179597387614924", false},
		{"remaining 179", "remaining 178", false},
		{"as of 2026-11-30T12:12:40.116967869Z are", "as of 2027-01-01T00:00:00Z are", true},
		{"id 4F46SWLRCWIO2WIK3S5Y6XJSQC now", "id R47ODL4AHYSC3I5DS647TUOX5B now", true},
		{"a … c\n", "a b b c\n", true},
		{"a … c\n", "a b\nb c\n", false},
		{"a.c", "abc", false},
	} {
		if got := (Tokens{}).Match(tt.shown, tt.got); got != tt.want {
			t.Errorf("%q and %q: %t", tt.shown, tt.got, got)
		}
	}
}

func TestTokensAreRemembered(t *testing.T) {
	tokens := Tokens{}
	if !tokens.Match("1795973876149239\n", "1795973876149240\n") {
		t.Fatal("no match")
	}
	if got := tokens.Input("release('k', 1795973876149239)"); got != "release('k', 1795973876149240)" {
		t.Errorf("typed is %s", got)
	}
	if tokens.Match("1795973876149239", "1795973876149241") {
		t.Error("another token is taken for one that was shown before")
	}
}
