package tree

import (
	"fmt"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Message is a part of a parse tree.
type Message interface {
	ProtoReflect() protoreflect.Message
}

// Each visits the messages of type M below n, and n itself.
func Each[M Message](n Message, visit func(M)) {
	Descend(n.ProtoReflect(), func(m protoreflect.Message) {
		if v, ok := m.Interface().(M); ok {
			visit(v)
		}
	})
}

// Any says whether such a message of type M is below n, or is n itself.
func Any[M Message](n Message, such func(M) bool) (found bool) {
	Each(n, func(m M) { found = found || such(m) })
	return found
}

// Descend visits m and every message below it.
func Descend(m protoreflect.Message, visit func(protoreflect.Message)) {
	DescendUnless(m, func(m protoreflect.Message) bool { visit(m); return true })
}

// DescendUnless is descend that leaves out what is below a message for which visit
// returns false.
func DescendUnless(m protoreflect.Message, visit func(protoreflect.Message) bool) {
	if m.IsValid() && visit(m) {
		eachBelow(m, func(below protoreflect.Message) { DescendUnless(below, visit) })
	}
}

// eachBelow visits the messages that are fields of m, in their order, but not those below
// them. (Range of protoreflect has another order in each build of the program.)
func eachBelow(m protoreflect.Message, visit func(protoreflect.Message)) {
	if oneofs := m.Descriptor().Oneofs(); oneofs.Len() > 0 { // it has no other messages
		if field := m.WhichOneof(oneofs.Get(0)); field != nil {
			visit(m.Get(field).Message())
		}
		return
	}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		switch {
		case field.Kind() != protoreflect.MessageKind || !m.Has(field):
		case !field.IsList():
			visit(m.Get(field).Message())
		default:
			list := m.Get(field).List()
			for j := range list.Len() {
				visit(list.Get(j).Message())
			}
		}
	}
}

// Outside visits the messages below n, except those in subqueries.
func Outside(n Message, visit func(protoreflect.Message)) {
	DescendUnless(n.ProtoReflect(), func(m protoreflect.Message) bool {
		if _, query := m.Interface().(*pg_query.SelectStmt); query {
			return false
		}
		visit(m)
		return true
	})
}

// Fingerprint is equal for two expressions that are written alike.
func Fingerprint(n Message) string {
	var b strings.Builder
	writeFingerprint(&b, n.ProtoReflect())
	return b.String()
}

func writeFingerprint(b *strings.Builder, m protoreflect.Message) {
	if !m.IsValid() {
		return
	}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		if !m.Has(field) || field.Name() == "location" {
			continue
		}
		fmt.Fprintf(b, "(%d", field.Number())
		switch v := m.Get(field); {
		case field.IsList() && field.Kind() == protoreflect.MessageKind:
			for j := range v.List().Len() {
				b.WriteByte(',')
				writeFingerprint(b, v.List().Get(j).Message())
			}
		case field.Kind() == protoreflect.MessageKind:
			writeFingerprint(b, v.Message())
		default:
			fmt.Fprintf(b, "%q", fmt.Sprint(v.Interface()))
		}
		b.WriteByte(')')
	}
}

// Location is where the text of n begins, as a byte offset in the parsed text:
// the smallest location anywhere in it. 0 if nothing in it has one.
func Location(n Message) int32 {
	first, _ := Locations(n)
	return max(first, 0)
}

// Locations are the first and the last place in n that the parser says; -1 if it says none.
func Locations(n Message) (first, last int32) {
	first, last = -1, -1
	Descend(n.ProtoReflect(), func(m protoreflect.Message) {
		field := m.Descriptor().Fields().ByName("location")
		if field == nil {
			return
		}
		if at := int32(m.Get(field).Int()); at >= 0 {
			if first < 0 || at < first {
				first = at
			}
			last = max(last, at)
		}
	})
	return first, last
}
