package pgwire

import (
	"github.com/jackc/pgx/v5/pgproto3"

	"raisinproxy/planner"
)

// conversation is several questions to the upstream in one exchange: their messages go
// together, and the answers are given to each in turn.
type conversation struct {
	messages []pgproto3.FrontendMessage
	parts    []conversationPart
}

type conversationPart struct {
	count int           // of messages that are not answered yet
	text  *planner.Text // what its errors are about; nil: a text of ours
	visit func(kind byte, body []byte) error
}

func (c *conversation) say(text *planner.Text, visit func(kind byte, body []byte) error, messages ...pgproto3.FrontendMessage) {
	c.messages = append(c.messages, messages...)
	c.parts = append(c.parts, conversationPart{len(messages), text, visit})
}

// interview has a conversation. It ends with the first error.
func (s *session) interview(c *conversation) error {
	if len(c.parts) == 0 {
		return nil
	}
	messages := s.takeStale()
	parts := append([]conversationPart{{count: len(messages)}}, c.parts...)
	messages = append(messages, c.messages...)
	fs, err := s.up.exchange(encode(append(messages, &pgproto3.Flush{})...), answersTo(len(messages)))
	if err != nil {
		return err
	}
	return s.each(fs, func(kind byte, body []byte) error {
		for len(parts) > 1 && parts[0].count == 0 {
			parts = parts[1:]
		}
		part := &parts[0]
		if endsAnswer(kind) {
			part.count--
		}
		switch {
		case kind == 'E' && part.text != nil:
			return failure(body, part.text)
		case kind == 'E':
			s.asking.forget() // in case it is for want of one of them
			return refusal(body)
		case part.visit != nil:
			return part.visit(kind, body)
		}
		return nil
	})
}
