package datum

import (
	"encoding/hex"
	"strings"
)

// uuidBytes is the width of a uuid.
const uuidBytes = 16

// parseUUID takes what uuid_in takes: 32 hexadecimal digits in any case, a hyphen
// after any group of four, braces around them. It is kept as uuid_out writes it.
func parseUUID(s string) (Datum, error) {
	digits := s
	if strings.HasPrefix(digits, "{") && strings.HasSuffix(digits, "}") {
		digits = digits[1 : len(digits)-1]
	}
	var raw [uuidBytes]byte
	for i := range raw {
		if len(digits) < 2 {
			return Datum{}, invalidInput(UUID, s)
		}
		if _, err := hex.Decode(raw[i:i+1], []byte(digits[:2])); err != nil {
			return Datum{}, invalidInput(UUID, s)
		}
		digits = digits[2:]
		if i%2 == 1 && i < uuidBytes-1 {
			digits = strings.TrimPrefix(digits, "-")
		}
	}
	if digits != "" {
		return Datum{}, invalidInput(UUID, s)
	}
	return OfText(formatUUID(raw[:])), nil
}

func formatUUID(raw []byte) string {
	d := hex.EncodeToString(raw)
	return d[:8] + "-" + d[8:12] + "-" + d[12:16] + "-" + d[16:20] + "-" + d[20:]
}
