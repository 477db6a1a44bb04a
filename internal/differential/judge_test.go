package differential

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// refused is the SQLSTATE of what the proxy does not do.
const refused = "0A000"

// outcome is what a statement did under one plan, or through the proxy.
type outcome struct {
	plan     string
	answers  []answer
	contents string
}

// kinds of faults, by weight.
const (
	moreCalls    = "more calls than under any plan"
	fewerCalls   = "fewer calls than under any plan"
	otherAnswer  = "another answer"
	otherTables  = "other tables afterwards"
	notGivenBack = "not given back after an error"
	silent       = "taken without a row, a change or a warning"
	notAnswered  = "refused, though it is certain"
)

// fault is one thing that is wrong.
type fault struct {
	kind, detail string
}

// verdict is what is to say about a statement through the proxy.
type verdict struct {
	refused bool
	faults  []fault
	// byPlan: PostgreSQL made fewer calls under some of its plans.
	byPlan bool
}

// judgement is what became of one statement through one proxy.
type judgement struct {
	*proxied
	got  outcome
	kept [][]string
	err  error
}

// refuses says whether an answer is no more than that the proxy does not do this.
func (p *proxied) refuses(step string, a *answer) bool {
	switch a.code {
	case refused:
		return true
	case "42883": // DDL is not looked into, so there the functions are unknown to PostgreSQL
		return strings.HasPrefix(step, "CREATE ")
	case "42704": // nobody has types of his own without a database
		return p.on == nil && strings.Contains(step, "posint")
	}
	return false
}

// judge compares what the proxy did with what PostgreSQL did under its plans. Steps are
// compared until the first that differs, since the later ones follow from it.
func (j *judgement) judge(s *statement, p protocol, want []outcome) (v verdict) {
	steps := p.steps(s)
	givenBack := false
	for i, a := range j.got.answers {
		if _, side := onTheSide(steps[i]); side {
			continue
		}
		where := ""
		if len(steps) > 1 {
			where = fmt.Sprintf("step %d: ", i+1)
		}
		fail := func(kind, format string, args ...any) {
			v.faults = append(v.faults, fault{kind, where + fmt.Sprintf(format, args...)})
		}
		if gone := strings.Join(j.kept[i], ", "); a.code != "" && gone != "" && gone != s.keeps {
			fail(notGivenBack, "%s, and gone: %s", a.code, gone)
		}
		same := slices.ContainsFunc(want, func(o outcome) bool {
			return o.answers[i].text == a.text || s.untold && o.answers[i].code == a.code ||
				(a.code != "" || givenBack) && withoutRows(o.answers[i].text) == withoutRows(a.text)
		})
		givenBack = givenBack || a.code != "" && len(a.calls) > 0 // the stand-ins give nothing back
		if j.refuses(steps[i], &a) && !same {
			v.refused = true
			if s.certain && j.on != nil {
				fail(notAnswered, "PostgreSQL says\n%s", indent(want[0].answers[i].text))
			}
			return v
		}
		if !same {
			fail(otherAnswer, "\n%s\nPostgreSQL says, %s:\n%s", indent(a.text), want[0].plan, indent(want[0].answers[i].text))
		}
		if a.code == "" {
			v.judgeCalls(i, want, a, fail)
			if len(j.kept[i]) > 0 && a.rows == 0 && len(a.warnings) == 0 {
				fail(silent, "%s", strings.Join(j.kept[i], ", "))
			}
		}
		if len(v.faults) > 0 {
			return v
		}
	}
	if j.on != nil && !slices.ContainsFunc(want, func(o outcome) bool { return o.contents == j.got.contents }) {
		v.faults = append(v.faults, fault{otherTables, "\n" + difference(want[0].contents, j.got.contents)})
	}
	return v
}

// withoutRows is an answer without its rows and their descriptions: those that told of what a
// failure gave back are not sent.
func withoutRows(text string) string {
	var kept []string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "  "), strings.HasSuffix(line, " "):
			continue
		case strings.HasPrefix(line, "SELECT "):
			line = "SELECT"
		}
		kept = append(kept, line)
	}
	return strings.Join(kept, "\n")
}

// judgeCalls: no call is made oftener than under the plan that makes most of it, nor
// less often than under the one that makes fewest.
func (v *verdict) judgeCalls(step int, want []outcome, a answer, fail func(kind, format string, args ...any)) {
	most, fewest, made := map[call]int{}, map[call]int{}, count(a.calls)
	for i, o := range want {
		under := count(o.answers[step].calls)
		for c := range fewest {
			fewest[c] = min(fewest[c], under[c])
		}
		for c, n := range under {
			most[c] = max(most[c], n)
			if i == 0 {
				fewest[c] = n
			}
		}
	}
	all := maps.Clone(most)
	maps.Copy(all, made)
	for _, c := range slices.Sorted(maps.Keys(all)) {
		switch {
		case made[c] > most[c]:
			fail(moreCalls, "%s: %d times, PostgreSQL %d to %d", c, made[c], fewest[c], most[c])
		case made[c] < fewest[c]:
			fail(fewerCalls, "%s: %d times, PostgreSQL %d to %d", c, made[c], fewest[c], most[c])
		case made[c] > fewest[c]:
			v.byPlan = true
		}
	}
}

func indent(text string) string { return "\t\t" + strings.ReplaceAll(text, "\n", "\n\t\t") }

// difference shows the lines that differ.
func difference(want, got string) string {
	var out []string
	wants, gots := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(wants), len(gots)) {
		var w, g string
		if i < len(wants) {
			w = wants[i]
		}
		if i < len(gots) {
			g = gots[i]
		}
		if w != g {
			out = append(out, "\t\t"+g, "\t\tPostgreSQL has "+w)
		}
	}
	return strings.Join(out, "\n")
}
