package main

import (
	"fmt"
	"slices"
)

// figures are a median and the extremes around it.
type figures struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

func figuresOf(values []float64) figures {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return figures{Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Min: sorted[0], Max: sorted[n-1]}
}

// line is one contestant's result.
type line struct {
	Contest    string  `json:"contest"`
	Contestant string  `json:"contestant"`
	Unit       string  `json:"unit"`
	Value      figures `json:"value"`
	CPU        figures `json:"cpu_us_each"`
	// Ratio is how many times as good as this one the first contestant was: its median is the
	// ratio of the medians, its extremes are those of the rounds. Absent for the first one.
	Ratio   *figures `json:"ratio,omitempty"`
	AtLeast float64  `json:"at_least,omitempty"`
}

func (l *line) missed() bool { return l.Ratio != nil && l.Ratio.Median < l.AtLeast }

func (l *line) brief() string {
	text := fmt.Sprintf("%-26s %-38s %12s %s", l.Contest, l.Contestant, number(l.Value.Median), l.Unit)
	if l.Ratio != nil {
		text += fmt.Sprintf("   × %.2f", l.Ratio.Median)
	}
	return text
}

// judge makes the lines of a contest.
func judge(c *contest, rounds [][]sample) []line {
	first := valuesOf(rounds, 0)
	lines := make([]line, len(c.contestants))
	for i, who := range c.contestants {
		var cpu []float64
		for _, round := range rounds {
			cpu = append(cpu, round[i].cpuEach())
		}
		values := valuesOf(rounds, i)
		lines[i] = line{Contest: c.name, Contestant: who.name, Unit: c.unit, AtLeast: who.atLeast,
			Value: figuresOf(values), CPU: figuresOf(cpu)}
		if i > 0 {
			lines[i].Ratio = c.ratio(first, values)
		}
	}
	return lines
}

// valuesOf are the values of one contestant in all rounds.
func valuesOf(rounds [][]sample, contestant int) []float64 {
	values := make([]float64, len(rounds))
	for r, round := range rounds {
		values[r] = round[contestant].value
	}
	return values
}

// ratio compares two contestants.
func (c *contest) ratio(first, other []float64) *figures {
	divide := func(a, b float64) float64 {
		if c.smaller {
			a, b = b, a
		}
		return a / b
	}
	each := make([]float64, len(first))
	for i := range first {
		each[i] = divide(first[i], other[i])
	}
	f := figuresOf(each)
	f.Median = divide(figuresOf(first).Median, figuresOf(other).Median)
	return &f
}
