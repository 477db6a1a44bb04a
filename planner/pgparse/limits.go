package pgparse

import (
	"unicode/utf8"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/planner/plan"
	"raisinproxy/planner/sqltext"
	"raisinproxy/sqlfuncs/pgerr"
)

// What pg_query may see. It recurses in C over the parse tree, and a stack that
// overflows there ends the process; nor can a parse be interrupted.
//
// Measured with pg_query_go 5.1 on x86-64 (parse_test.go has the shapes): a tree
// takes at most 360 bytes of stack for one of Height, so 540 kB at maxHeight. That
// is a fifteenth of the usual 8 MiB, and a quarter of the 2 MiB that threads get
// under `ulimit -s unlimited`. Were Height wrong for some shape, maxTokens alone
// would keep it below 7.2 MB. A parse at the limits takes some 80 ms of one processor, and
// planning what it gives three times as much (worst_test.go of planner has the shapes): both grow no
// faster than the text. (musl gives threads 128 KiB unless the linker is told otherwise.)
const (
	maxTextBytes = 256 << 10
	// maxLongBytes is for texts without a call, which an embedded server has to
	// read too: their length may be in a few long strings. Height is not measured
	// in them, so maxHeight bounds their tokens.
	maxLongBytes = 4 << 20
	maxTokens    = sqltext.MaxTokens
	maxDepth     = 256
	maxHeight    = 1500
	// maxWork bounds the product of tokens and Height: pg_query writes its tree in a time
	// that grows with the square of how deep it is.
	maxWork = 7_500_000
)

// CheckLimits refuses a text that is too long, has too many tokens, or is nested too deep.
// Parse does so by itself.
func CheckLimits(text *sqltext.Text) *pgerr.Error {
	length, tokens, mentions := len(text.SQL), text.Count(), text.Mentions()
	if !text.Whole() {
		tokens = maxTokens + 1
	}
	switch {
	case !mentions && (length > maxLongBytes || tokens > maxTokens || length > maxTextBytes && tokens > maxHeight):
		return plan.UpstreamError("a statement of this size")
	case length > maxTextBytes && (mentions || tokens > maxHeight):
		return tooComplex("%d bytes", maxTextBytes)
	case tokens > maxTokens:
		return tooComplex("%d tokens", maxTokens)
	case length > maxTextBytes:
		return nil
	}
	switch depth, height := measure(text); {
	case depth > maxDepth:
		return tooComplex("%d levels of brackets and CASE", maxDepth)
	case height > min(maxHeight, maxWork/max(1, tokens)):
		return tooComplex("%d tokens in an expression and all that it is nested in", min(maxHeight, maxWork/tokens))
	}
	return nil
}

// CheckLength refuses a text that is too long to be looked at closely.
func CheckLength(text string) *pgerr.Error {
	switch {
	case len(text) <= maxLongBytes:
		return nil
	case sqltext.MentionsProxyText(text):
		return tooComplex("%d bytes", maxTextBytes)
	}
	return plan.UpstreamError("a statement of this size")
}

func tooComplex(limit string, n int) *pgerr.Error {
	return pgerr.Newf(codes.StatementTooComplex, "statement too complex for the proxy to plan").
		WithHint("A text that the proxy plans itself may have at most "+limit+".", n)
}

// CheckEncoding keeps from C what it would misread: bytes that are not UTF-8,
// and NUL, where it would see the end of the text.
func CheckEncoding(text string) *pgerr.Error {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if r == 0 || r == utf8.RuneError && n == 1 {
			return pgerr.InvalidUTF8(text[i:])
		}
		i += n
	}
	return nil
}
