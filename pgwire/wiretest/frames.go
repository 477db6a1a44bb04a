package wiretest

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
)

// frame is a front-end message as bytes, with what it makes the server owe.
type frame struct {
	debt  debt
	bytes []byte
}

// flushes is true where the server has to answer all that came before.
func (f frame) flushes() bool { return strings.IndexByte("SQHF", f.debt.kind) >= 0 }

// owes is true where the server has to answer the message itself.
func (f frame) owes() bool { return strings.IndexByte("PBCDpESQF", f.debt.kind) >= 0 }

// endsCopy is true for CopyDone and CopyFail.
func (f frame) endsCopy() bool { return f.debt.kind == 'c' || f.debt.kind == 'f' }

// parseExtended reads the input of `extended`.
func parseExtended(input string) ([]frame, error) {
	tokens, err := tokenize(input)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	var frames []frame
	for len(p.tokens) > 0 && p.err == nil {
		if p.accept('\n') {
			continue
		}
		frames = append(frames, p.message())
		p.expect('\n')
	}
	if p.err != nil {
		return nil, p.err
	}
	return frames, nil
}

func (p *parser) message() frame {
	switch kind := p.expect('w'); kind {
	case "P":
		return p.parse()
	case "B":
		return p.bind()
	case "D", "C":
		return p.describeOrClose(kind[0])
	case "E":
		return p.execute()
	case "F":
		return p.functionCall()
	case "Q":
		return frame{debt{kind: 'Q'}, newFrame('Q', cstring(p.name()))}
	case "H", "S", "X", "c":
		return frame{debt{kind: kind[0]}, newFrame(kind[0], nil)}
	case "d":
		return frame{debt{kind: 'd'}, newFrame('d', []byte(p.name()))}
	case "f":
		return frame{debt{kind: 'f'}, newFrame('f', cstring(p.name()))}
	default:
		p.fail("no message %q", kind)
		return frame{}
	}
}

func (p *parser) parse() frame {
	name, sql := "", p.name()
	if p.peek().kind == 's' {
		name, sql = sql, p.name()
	}
	var types []byte
	count := 0
	for !p.atEnd() {
		for _, v := range p.value() {
			oid, ok := typeOID(string(v.bytes))
			if !ok {
				p.fail("no type %q", v.bytes)
			}
			types = binary.BigEndian.AppendUint32(types, oid)
			count++
		}
		p.accept(',')
	}
	body := append(cstring(name), cstring(sql)...)
	body = append(p.appendCount(body, count), types...)
	return frame{debt{kind: 'P', statement: name}, newFrame('P', body)}
}

func (p *parser) bind() frame {
	d := debt{kind: 'B'}
	if k := p.peek().kind; k == 'w' && !p.isOption() || k == 's' {
		d.portal = p.name()
		if k := p.peek().kind; k != 'w' && k != 's' || p.isOption() {
			p.fail(`Bind takes two names or none: portal and statement, "" for the unnamed`)
		}
		d.statement = p.name()
	}
	var params []value
	if p.peek().kind == '(' {
		params = p.list()
	}
	formats := formatsOf(params)
	for !p.atEnd() {
		option := p.expect('w')
		p.expect('=')
		switch option {
		case "formats":
			formats = p.formatCodes()
		case "result":
			d.formats = p.formatCodes()
		default:
			p.fail("Bind has no option %q", option)
		}
	}
	body := append(cstring(d.portal), cstring(d.statement)...)
	body = p.appendFormats(body, formats)
	body = p.appendValues(body, params)
	return frame{d, newFrame('B', p.appendFormats(body, d.formats))}
}

// functionCall is a FunctionCall: the function's OID, its arguments, and a result in
// binary format.
func (p *parser) functionCall() frame {
	oid, err := strconv.ParseUint(p.expect('w'), 10, 32)
	if err != nil {
		p.fail("F takes the OID of a function and its arguments")
	}
	args := p.list()
	body := binary.BigEndian.AppendUint32(nil, uint32(oid))
	body = p.appendFormats(body, formatsOf(args))
	body = p.appendValues(body, args)
	return frame{debt{kind: 'F'}, newFrame('F', binary.BigEndian.AppendUint16(body, 1))}
}

func (p *parser) appendValues(body []byte, values []value) []byte {
	body = p.appendCount(body, len(values))
	for _, v := range values {
		length := int32(len(v.bytes))
		switch {
		case v.length != nil:
			length = *v.length
		case v.null:
			length = -1
		}
		body = binary.BigEndian.AppendUint32(body, uint32(length))
		body = append(body, v.bytes...)
	}
	return body
}

// isOption is true at name=….
func (p *parser) isOption() bool { return len(p.tokens) > 1 && p.tokens[1].kind == '=' }

// formatsOf gives no format codes for parameters that are all text, else one each.
func formatsOf(params []value) []int16 {
	var formats []int16
	for i, v := range params {
		if v.binary && formats == nil {
			formats = make([]int16, len(params))
		}
		if v.binary {
			formats[i] = 1
		}
	}
	return formats
}

func (p *parser) describeOrClose(typ byte) frame {
	what := p.expect('w')
	if what != "S" && what != "P" {
		p.fail("%c takes S or P, and a name", typ)
		return frame{}
	}
	name := p.optionalName()
	d := debt{kind: typ, statement: name}
	if what == "P" {
		d = debt{kind: typ, portal: name}
		if typ == 'D' {
			d.kind = 'p'
		}
	}
	return frame{d, newFrame(typ, append([]byte(what), cstring(name)...))}
}

func (p *parser) execute() frame {
	d := debt{kind: 'E'}
	maxRows, hasMax := p.number()
	if !hasMax {
		d.portal = p.optionalName()
		maxRows, _ = p.number()
	}
	d.maxRows = maxRows
	body := binary.BigEndian.AppendUint32(cstring(d.portal), uint32(int32(maxRows)))
	return frame{d, newFrame('E', body)}
}

// number is a bare number if one comes.
func (p *parser) number() (int, bool) {
	t := p.peek()
	n, err := strconv.ParseInt(t.text, 10, 32)
	if t.kind != 'w' || err != nil {
		return 0, false
	}
	p.next()
	return int(n), true
}

// parseFrames reads the input of `send`: bytes that need not be right.
func parseFrames(input string) ([]byte, error) {
	tokens, err := tokenize(input)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	var out []byte
	for len(p.tokens) > 0 && p.err == nil {
		if !p.accept('\n') {
			out = p.frame(out)
		}
	}
	return out, p.err
}

func (p *parser) frame(out []byte) []byte {
	head := p.next()
	length, given := int64(0), false
	if p.peek() == (token{'w', "len"}) && p.isOption() {
		p.next()
		p.next()
		n, err := strconv.ParseInt(p.expect('w'), 0, 64)
		if err != nil {
			p.fail("bad length: %w", err)
		}
		length, given = n, true
	}
	var body []byte
	for !p.atEnd() {
		for _, v := range p.value() {
			body = append(body, v.bytes...)
		}
	}
	if !given {
		length = int64(len(body)) + 4
	}
	switch {
	case head == token{'w', "bytes"}:
		return append(out, body...)
	case head == token{'w', "startup"}:
	case len(head.text) == 1:
		out = append(out, head.text[0])
	default:
		p.fail("a frame starts with a type of one byte, `startup` or `bytes`, not %q", head.text)
	}
	out = binary.BigEndian.AppendUint32(out, uint32(length))
	return append(out, body...)
}

func (p *parser) appendCount(b []byte, n int) []byte {
	if n > math.MaxUint16 {
		p.fail("%d of something that is counted in 16 bit", n)
	}
	return binary.BigEndian.AppendUint16(b, uint16(n))
}

func (p *parser) appendFormats(b []byte, formats []int16) []byte {
	b = p.appendCount(b, len(formats))
	for _, f := range formats {
		b = binary.BigEndian.AppendUint16(b, uint16(f))
	}
	return b
}

func cstring(s string) []byte { return append([]byte(s), 0) }

// newFrame is a message with its length; type 0 is a start-up packet, which has no
// type.
func newFrame(typ byte, body []byte) []byte {
	var out []byte
	if typ != 0 {
		out = append(out, typ)
	}
	out = binary.BigEndian.AppendUint32(out, uint32(len(body)+4))
	return append(out, body...)
}
