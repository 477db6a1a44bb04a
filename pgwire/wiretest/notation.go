package wiretest

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// token is a word, a quoted text, bytes or a punctuation mark of a script's input.
type token struct {
	kind rune // 'w' word, 's' quoted text, 'x' bytes, '\n' end of a message, or the mark itself
	text string
}

// tokenize cuts the input of `extended` and `send` into tokens.
func tokenize(input string) ([]token, error) {
	var tokens []token
	depth := 0
	for i := 0; i < len(input); {
		rest := input[i:]
		switch c := rest[0]; {
		case c == ' ' || c == '\t' || c == '\r':
			i++
		case c == '\n' || c == ';':
			if depth == 0 || c == ';' {
				tokens = append(tokens, token{kind: '\n'})
			}
			i++
		case c == '#':
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			i += end
		case strings.IndexByte("(),=*", c) >= 0:
			switch c {
			case '(':
				depth++
			case ')':
				depth--
			}
			tokens = append(tokens, token{rune(c), string(c)})
			i++
		case strings.HasPrefix(rest, "x'"):
			end := strings.IndexByte(rest[2:], '\'')
			if end < 0 {
				return nil, fmt.Errorf("unterminated %s", rest)
			}
			raw, err := hex.DecodeString(strings.ReplaceAll(rest[2:2+end], " ", ""))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", rest[:end+3], err)
			}
			tokens = append(tokens, token{'x', string(raw)})
			i += end + 3
		case c == '\'' || c == '`':
			text, size, err := verbatim(rest)
			if err != nil {
				return nil, err
			}
			tokens = append(tokens, token{'s', text})
			i += size
		case c == '"':
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return nil, fmt.Errorf("bad text: %s", rest)
			}
			text, err := strconv.Unquote(quoted)
			if err != nil {
				return nil, fmt.Errorf("bad text: %s", quoted)
			}
			tokens = append(tokens, token{'s', text})
			i += len(quoted)
		default:
			end := strings.IndexAny(rest, " \t\r\n;#(),=*'\"`")
			if end < 0 {
				end = len(rest)
			}
			tokens = append(tokens, token{'w', rest[:end]})
			i += end
		}
	}
	return append(tokens, token{kind: '\n'}), nil
}

// verbatim reads 'text' or `text`; a doubled quote stands for one.
func verbatim(rest string) (text string, size int, err error) {
	quote := rest[:1]
	for size = 1; ; {
		end := strings.Index(rest[size:], quote)
		if end < 0 {
			return "", 0, fmt.Errorf("unterminated %s", rest)
		}
		text += rest[size : size+end]
		size += end + 1
		if !strings.HasPrefix(rest[size:], quote) {
			return text, size, nil
		}
		text += quote
		size++
	}
}

// parser reads tokens; its first fault sticks.
type parser struct {
	tokens []token
	err    error
}

func (p *parser) peek() token {
	if len(p.tokens) == 0 {
		return token{kind: '\n'}
	}
	return p.tokens[0]
}

func (p *parser) next() token {
	t := p.peek()
	if len(p.tokens) > 0 {
		p.tokens = p.tokens[1:]
	}
	return t
}

func (p *parser) accept(kind rune) bool {
	if p.peek().kind != kind {
		return false
	}
	p.next()
	return true
}

func (p *parser) expect(kind rune) string {
	t := p.next()
	if t.kind != kind {
		p.fail("expected %q, found %q", kind, t.text)
	}
	return t.text
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

// atEnd is true at the end of a message, and after a fault.
func (p *parser) atEnd() bool { return p.err != nil || p.peek().kind == '\n' }

// name is a word or a quoted text.
func (p *parser) name() string {
	t := p.next()
	if t.kind != 'w' && t.kind != 's' {
		p.fail("expected a name, found %q", t.text)
	}
	return t.text
}

// optionalName is a name if one comes, else "", the unnamed.
func (p *parser) optionalName() string {
	if k := p.peek().kind; k == 'w' || k == 's' {
		return p.name()
	}
	return ""
}

// value is an encoded parameter, or a piece of a frame.
type value struct {
	bytes  []byte
	binary bool
	null   bool
	length *int32 // written instead of the real one
}

// value reads one value, and its repetition if there is one.
func (p *parser) value() []value {
	v := p.single()
	if !p.accept('*') {
		return []value{v}
	}
	n, err := strconv.Atoi(p.expect('w'))
	if err != nil || n < 0 {
		p.fail("bad repetition")
		return nil
	}
	many := make([]value, n)
	for i := range many {
		many[i] = v
	}
	return many
}

func (p *parser) single() value {
	switch t := p.next(); {
	case t.kind == 's':
		return value{bytes: []byte(t.text)}
	case t.kind == 'x':
		return value{bytes: []byte(t.text), binary: true}
	case t.kind == 'w' && p.peek().kind == '(':
		return p.call(t.text)
	case t.kind == 'w' && t.text == "NULL":
		return value{null: true}
	case t.kind == 'w':
		return value{bytes: []byte(t.text)}
	default:
		p.fail("expected a value, found %q", t.text)
		return value{}
	}
}

// call reads the argument of a typed helper such as int8(42).
func (p *parser) call(helper string) value {
	p.expect('(')
	arg := p.next()
	v := value{binary: true}
	number, numberErr := strconv.ParseInt(arg.text, 0, 64)
	inRange := func(low, high int64) {
		if numberErr != nil || number < low || number > high {
			p.fail("%s(%s): not a number in range", helper, arg.text)
		}
	}
	switch helper {
	case "byte":
		inRange(0, math.MaxUint8)
		v.bytes = []byte{byte(number)}
	case "int2":
		inRange(math.MinInt16, math.MaxUint16)
		v.bytes = binary.BigEndian.AppendUint16(nil, uint16(number))
	case "int4", "oid":
		inRange(math.MinInt32, math.MaxUint32)
		v.bytes = binary.BigEndian.AppendUint32(nil, uint32(number))
	case "int8":
		inRange(math.MinInt64, math.MaxInt64)
		v.bytes = binary.BigEndian.AppendUint64(nil, uint64(number))
	case "float8":
		f, err := strconv.ParseFloat(arg.text, 64)
		if err != nil {
			p.fail("float8: %w", err)
		}
		v.bytes = binary.BigEndian.AppendUint64(nil, math.Float64bits(f))
	case "bool":
		v.bytes = []byte{0}
		if arg.text == "t" {
			v.bytes[0] = 1
		}
	case "text":
		v.bytes = []byte(arg.text)
	case "jsonb":
		v.bytes = append([]byte{1}, arg.text...)
	case "cstr":
		v.bytes = append([]byte(arg.text), 0)
	case "length":
		inRange(math.MinInt32, math.MaxInt32)
		length := int32(number)
		v.length = &length
		if p.accept(',') {
			v.bytes = p.single().bytes
		}
	default:
		p.fail("no helper %s(…)", helper)
	}
	p.expect(')')
	return v
}

// list reads values between parentheses.
func (p *parser) list() []value {
	p.expect('(')
	var values []value
	for p.err == nil && !p.accept(')') {
		values = append(values, p.value()...)
		if p.peek().kind != ')' {
			p.expect(',')
		}
	}
	return values
}

// formatCodes reads a list of formats: t or 0, b or 1, or another number.
func (p *parser) formatCodes() []int16 {
	codes := []int16{}
	for _, v := range p.list() {
		switch text := string(v.bytes); text {
		case "t":
			codes = append(codes, 0)
		case "b":
			codes = append(codes, 1)
		default:
			code, err := strconv.ParseInt(text, 10, 16)
			if err != nil {
				p.fail("bad format %q", text)
			}
			codes = append(codes, int16(code))
		}
	}
	return codes
}
