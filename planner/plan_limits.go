package planner

// maxColumns is PostgreSQL's MaxTupleAttributeNumber.
const maxColumns = 1664

// maxParams is what the protocol can count.
const maxParams = 65535
