package settings

import (
	"math"
	"strings"
)

// A unit is one that a value may have, with its size in bytes or microseconds.
type unit struct {
	name string
	size float64
}

// From the greatest to the smallest.
var (
	memoryUnits = []unit{{"TB", 1 << 40}, {"GB", 1 << 30}, {"MB", 1 << 20}, {"kB", 1 << 10}, {"B", 1}}
	timeUnits   = []unit{{"d", 86400e6}, {"h", 3600e6}, {"min", 60e6}, {"s", 1e6}, {"ms", 1e3}, {"us", 1}}
)

const (
	memoryHint numberProblem = `Valid units for this parameter are "B", "kB", "MB", "GB", and "TB".`
	timeHint   numberProblem = `Valid units for this parameter are "us", "ms", "s", "min", "h", and "d".`
)

// unitsOf returns the units that go with a base unit, and the size of that one.
func unitsOf(base string) (units []unit, size float64, hint numberProblem) {
	if base == "8kB" { // a block
		return memoryUnits, 8 << 10, memoryHint
	}
	for _, u := range memoryUnits {
		if u.name == base {
			return memoryUnits, u.size, memoryHint
		}
	}
	for _, u := range timeUnits {
		if u.name == base {
			return timeUnits, u.size, timeHint
		}
	}
	return nil, 0, ""
}

// toBaseUnit converts v, which the text in suffix follows.
func toBaseUnit(v float64, suffix, base string) (float64, numberProblem, bool) {
	if math.IsNaN(v) {
		return 0, "", false
	}
	name := strings.Trim(suffix, cSpace)
	if strings.TrimLeft(suffix, cSpace) == "" {
		return v, "", true
	}
	units, baseSize, hint := unitsOf(base)
	for i, u := range units {
		if u.name != name {
			continue
		}
		v *= u.size / baseSize
		if i+1 < len(units) { // 30.1 GB is rounded to whole MB
			next := units[i+1].size / baseSize
			v = math.RoundToEven(v/next) * next
		}
		return v, "", true
	}
	return 0, hint, false
}

// greatestUnit is how SHOW shows a positive v.
func (p *parameter) greatestUnit(v float64) (float64, string) {
	units, baseSize, _ := unitsOf(p.unit)
	var shown float64
	for _, u := range units {
		multiplier := u.size / baseSize
		shown = v / multiplier
		if p.kind == kindInteger {
			if multiplier <= 1 || math.Mod(v, multiplier) == 0 {
				return math.RoundToEven(shown), u.name
			}
		} else if math.Abs(math.RoundToEven(shown)/shown-1) <= 1e-8 {
			return shown, u.name
		}
	}
	return shown, units[len(units)-1].name // a fraction of the smallest
}
