package datum

import (
	"testing"
)

// BenchmarkEncode writes the values of a granted lock as a row has them.
func BenchmarkEncode(b *testing.B) {
	types := []Type{Bool, Text, Int8, Int8}
	row := []Datum{OfBool(true), OfText("seat:14A"), OfInt(1795973876149239), OfInt(1795973881149)}
	b.Run("text", func(b *testing.B) {
		var buf []byte
		b.ReportAllocs()
		for b.Loop() {
			buf = buf[:0]
			for i, t := range types {
				buf = AppendText(buf, t, row[i], nil)
			}
		}
	})
	b.Run("binary", func(b *testing.B) {
		var buf []byte
		b.ReportAllocs()
		for b.Loop() {
			buf = buf[:0]
			for i, t := range types {
				var err error
				if buf, err = AppendBinary(buf, t, row[i]); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
