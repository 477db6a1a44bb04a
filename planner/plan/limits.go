package plan

// MaxColumns is PostgreSQL's MaxTupleAttributeNumber.
const MaxColumns = 1664

// MaxParams is what the protocol can count.
const MaxParams = 65535
