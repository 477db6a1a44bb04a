package planner

import (
	"fmt"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/reflect/protoreflect"
)

type protoMessage interface {
	ProtoReflect() protoreflect.Message
}

// each visits the messages of type M below n, and n itself.
func each[M protoMessage](n protoMessage, visit func(M)) {
	descend(n.ProtoReflect(), func(m protoreflect.Message) {
		if v, ok := m.Interface().(M); ok {
			visit(v)
		}
	})
}

// descend visits m and every message below it.
func descend(m protoreflect.Message, visit func(protoreflect.Message)) {
	descendUnless(m, func(m protoreflect.Message) bool { visit(m); return true })
}

// descendUnless is descend that leaves out what is below a message for which visit
// returns false.
func descendUnless(m protoreflect.Message, visit func(protoreflect.Message) bool) {
	if m.IsValid() && visit(m) {
		eachBelow(m, func(below protoreflect.Message) { descendUnless(below, visit) })
	}
}

// eachBelow visits the messages that are fields of m, but not those below them.
func eachBelow(m protoreflect.Message, visit func(protoreflect.Message)) {
	m.Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case field.Kind() != protoreflect.MessageKind:
		case field.IsList():
			list := v.List()
			for i := range list.Len() {
				visit(list.Get(i).Message())
			}
		default:
			visit(v.Message())
		}
		return true
	})
}

// outside visits the messages below n, but for those in subqueries.
func outside(n protoMessage, visit func(protoreflect.Message)) {
	descendUnless(n.ProtoReflect(), func(m protoreflect.Message) bool {
		if _, query := m.Interface().(*pg_query.SelectStmt); query {
			return false
		}
		visit(m)
		return true
	})
}

// fingerprint is equal for two expressions that are written alike.
func fingerprint(n protoMessage) string {
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

// locationOf is where the text of n begins, as a byte offset in the parsed text:
// the smallest location anywhere in it. 0 if nothing in it has one.
func locationOf(n *pg_query.Node) int32 {
	first := int32(-1)
	descend(n.ProtoReflect(), func(m protoreflect.Message) {
		field := m.Descriptor().Fields().ByName("location")
		if field == nil {
			return
		}
		if at := int32(m.Get(field).Int()); first < 0 || at < first {
			first = at
		}
	})
	return max(first, 0)
}
