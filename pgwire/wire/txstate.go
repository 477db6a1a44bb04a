package wire

// The transaction status in ReadyForQuery.
const (
	StatusIdle   = 'I'
	StatusBlock  = 'T'
	StatusFailed = 'E'
)

// TxState is the state of a session's transaction: more than ReadyForQuery tells.
type TxState int

// The states of a transaction.
const (
	NoTransaction       TxState = iota
	ImplicitTransaction         // of one statement, one Query, or one pipeline up to its Sync
	InBlock                     // after BEGIN
	FailedBlock                 // after an error in one
)

// Status is what ReadyForQuery tells of a state.
func (t TxState) Status() byte {
	switch t {
	case InBlock:
		return StatusBlock
	case FailedBlock:
		return StatusFailed
	}
	return StatusIdle
}
