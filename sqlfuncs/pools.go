package sqlfuncs

import (
	"context"

	"raisinproxy/backend"
	"raisinproxy/sqlfuncs/datum"
)

func claim(ctx context.Context, c call) error {
	claimed, err := c.service.backend.Claim(ctx, c.caller.Scope, c.args[0].Str, c.args[1].Int, c.args[2].Int)
	if err != nil {
		return err
	}
	return c.tell(datum.OfBool(claimed.Claimed), datum.OfInt(claimed.Remaining))
}

func restock(ctx context.Context, c call) error {
	remaining, err := c.service.backend.Restock(ctx, c.caller.Scope, c.args[0].Str, c.args[1].Int)
	if err != nil {
		return err
	}
	return c.tell(datum.OfInt(remaining))
}

func count(ctx context.Context, c call) error {
	pool, found, err := c.service.backend.Count(ctx, c.caller.Scope, c.args[0].Str)
	if err != nil {
		return err
	}
	if !found {
		return c.tell(datum.OfBool(false), c.args[0], datum.Null, datum.Null, datum.Null)
	}
	copy(c.row[1:], poolRow(pool))
	return c.tell(datum.OfBool(true))
}

func pools(ctx context.Context, c call) ([]Row, error) {
	found, err := c.service.backend.Pools(ctx, c.caller.Scope, c.args[0].Str, int(c.args[1].Int))
	if err != nil {
		return nil, err
	}
	rows := make([]Row, len(found))
	for i, p := range found {
		copy(rows[i][:], poolRow(p))
	}
	return rows, nil
}

// poolRow tells of a pool in poolColumns.
func poolRow(p backend.Pool) []datum.Datum {
	const reserved = 0 // nothing can be reserved yet
	return []datum.Datum{datum.OfText(p.Name), capacityOf(p), datum.OfInt(p.Remaining), datum.OfInt(reserved)}
}

func capacityOf(p backend.Pool) datum.Datum {
	if p.Capacity == backend.UnknownCapacity {
		return datum.Null
	}
	return datum.OfInt(p.Capacity)
}

func setPool(ctx context.Context, c call) error {
	to := backend.Pool{Name: c.args[0].Str, Capacity: c.args[1].Int, Remaining: c.args[2].Int}
	before, found, err := c.service.backend.SetPool(ctx, c.caller.Scope, to)
	if err != nil {
		return err
	}
	c.logged("pool", to.Name, "found", found, "capacity_before", before.Capacity, "remaining_before", before.Remaining,
		"capacity", to.Capacity, "remaining", to.Remaining)
	if !found {
		return c.tell(c.args[0], datum.Null, datum.Null)
	}
	return c.tell(c.args[0], capacityOf(before), datum.OfInt(before.Remaining))
}

func dropPool(ctx context.Context, c call) error {
	dropped, err := c.service.backend.DropPool(ctx, c.caller.Scope, c.args[0].Str)
	if err != nil {
		return err
	}
	c.logged("pool", c.args[0].Str, "dropped", dropped)
	return c.tell(datum.OfBool(dropped))
}
