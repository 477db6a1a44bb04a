package settings

import (
	"strconv"
)

// A Description is one line of pg_settings. What is nil is NULL there.
type Description struct {
	Name, Setting, Text string
	Unit                *string
	Context, Kind       string
	Min, Max            *string
	Enum                []string
}

// Describe is pg_settings: the parameters of SHOW ALL, their values without a unit.
func (s *Set) Describe() []Description {
	all := make([]Description, 0, len(s.defaults.parameters))
	for i := range s.defaults.parameters {
		if p := &s.defaults.parameters[i]; !p.is(hidden | superuserOnly) {
			all = append(all, s.describe(p))
		}
	}
	return all
}

func (s *Set) describe(p *parameter) Description {
	d := Description{
		Name: p.name, Setting: s.text(p), Text: p.description, Context: nameOfAccess[p.access], Kind: nameOfKind[p.kind], Enum: p.enum,
	}
	if p.unit != "" {
		d.Unit = &p.unit
	}
	switch {
	case p.kind == kindInteger || p.kind == kindReal:
		d.Setting = p.withoutUnit(d.Setting)
		d.Min, d.Max = p.bound(p.min), p.bound(p.max)
	case fileModes[p.key]: // a number, which is shown in octal
		least, most := "0", "511"
		d.Kind, d.Min, d.Max = nameOfKind[kindInteger], &least, &most
	}
	return d
}

var fileModes = map[string]bool{"data_directory_mode": true, "log_file_mode": true, "unix_socket_permissions": true}

// withoutUnit is a shown value in the parameter's own unit.
func (p *parameter) withoutUnit(shown string) string {
	read := readReal
	if p.kind == kindInteger {
		read = readInteger
	}
	v, _, ok := read(shown, p.unit)
	if !ok {
		return shown
	}
	return *p.bound(v)
}

func (p *parameter) bound(v float64) *string {
	text := formatG(v)
	if p.kind == kindInteger {
		text = strconv.FormatInt(int64(v), 10)
	}
	return &text
}

var (
	nameOfKind   = inverse(kindNames)
	nameOfAccess = inverse(accessNames)
)

func inverse[V comparable](names map[string]V) map[V]string {
	out := make(map[V]string, len(names))
	for name, v := range names {
		out[v] = name
	}
	return out
}
