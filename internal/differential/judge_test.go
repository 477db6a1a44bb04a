package differential

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// refused is the SQLSTATE of what the proxy does not do.
const refused = "0A000"

// isRefusal: DDL is not looked into, so there the functions are unknown to PostgreSQL.
func (a *answer) isRefusal(step string) bool {
	return a.code == refused || a.code == "42883" && strings.HasPrefix(step, "CREATE ")
}

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

// judge compares what the proxy did with what PostgreSQL did under its plans. Steps are
// compared until the first that differs, since the later ones follow from it.
func judge(s *statement, want []outcome, got outcome, kept [][]string) (v verdict) {
	for i, a := range got.answers {
		if _, side := onTheSide(s.steps[i]); side {
			continue
		}
		where := ""
		if len(s.steps) > 1 {
			where = fmt.Sprintf("step %d: ", i+1)
		}
		fail := func(kind, format string, args ...any) {
			v.faults = append(v.faults, fault{kind, where + fmt.Sprintf(format, args...)})
		}
		if a.code != "" && len(kept[i]) > 0 {
			fail(notGivenBack, "%s, and gone: %s", a.code, strings.Join(kept[i], ", "))
		}
		same := slices.ContainsFunc(want, func(o outcome) bool {
			return o.answers[i].text == a.text || s.untold && o.answers[i].code == a.code
		})
		if a.isRefusal(s.steps[i]) && !same {
			v.refused = true
			if s.certain {
				fail(notAnswered, "PostgreSQL says\n%s", indent(want[0].answers[i].text))
			}
			return v
		}
		if !same {
			fail(otherAnswer, "\n%s\nPostgreSQL says, %s:\n%s", indent(a.text), want[0].plan, indent(want[0].answers[i].text))
		}
		if a.code == "" {
			v.judgeCalls(i, want, a, fail)
			if len(kept[i]) > 0 && a.rows == 0 && len(a.warnings) == 0 {
				fail(silent, "%s", strings.Join(kept[i], ", "))
			}
		}
		if len(v.faults) > 0 {
			return v
		}
	}
	if !slices.ContainsFunc(want, func(o outcome) bool { return o.contents == got.contents }) {
		v.faults = append(v.faults, fault{otherTables, "\n" + difference(want[0].contents, got.contents)})
	}
	return v
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
