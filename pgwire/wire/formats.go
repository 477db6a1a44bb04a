package wire

// The formats of values.
const (
	TextFormat   int16 = 0
	BinaryFormat int16 = 1
)

// Formats are the format codes of a Bind: none (all text), one for all, or one
// for each.
type Formats []int16

// Of is the format of the value at i.
func (f Formats) Of(i int) int16 {
	switch len(f) {
	case 0:
		return TextFormat
	case 1:
		return f[0]
	}
	return f[i]
}
