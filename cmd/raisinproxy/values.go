package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// setter takes a value as TOML gave it, or says what is wrong with it. Its message
// continues "key: "; it repeats a value only where no secret can be.
type setter func(value any) error

func text(dst *string) setter {
	return func(value any) error {
		s, ok := value.(string)
		if !ok {
			return mustBe("a string", value)
		}
		if strings.ContainsRune(s, 0) {
			return errors.New("must not have a NUL character")
		}
		*dst = s
		return nil
	}
}

func texts(dst *[]string) setter {
	return func(value any) error {
		list, ok := value.([]any)
		if !ok {
			return mustBe("a list of strings", value)
		}
		var all []string
		for _, item := range list {
			s, ok := item.(string)
			if !ok {
				return fmt.Errorf("must be a list of strings, but one item is %s", kindOf(item))
			}
			all = append(all, s)
		}
		*dst = all
		return nil
	}
}

func oneOf(dst *string, choices ...string) setter {
	return func(value any) error {
		s, ok := value.(string)
		if !ok {
			return mustBe("a string", value)
		}
		if !slices.Contains(choices, s) {
			return fmt.Errorf("must be one of \"%s\"", strings.Join(choices, `", "`))
		}
		*dst = s
		return nil
	}
}

func boolean(dst *bool) setter {
	return func(value any) error {
		b, ok := value.(bool)
		if !ok {
			return mustBe("true or false", value)
		}
		*dst = b
		return nil
	}
}

func integer(dst *int, least, most int64) setter {
	return func(value any) error {
		n, ok := value.(int64)
		if !ok {
			return mustBe("a whole number", value)
		}
		if n < least || n > most {
			return fmt.Errorf("must be from %d to %d, not %d", least, most, n)
		}
		*dst = int(n)
		return nil
	}
}

// duration takes a count of units.
func duration(dst *time.Duration, unit time.Duration, least, most int64) setter {
	var n int
	set := integer(&n, least, most)
	return func(value any) error {
		if err := set(value); err != nil {
			return err
		}
		*dst = time.Duration(n) * unit
		return nil
	}
}

func mustBe(what string, value any) error {
	return fmt.Errorf("must be %s, not %s", what, kindOf(value))
}

func kindOf(value any) string {
	switch value.(type) {
	case string:
		return "a string"
	case int64:
		return "a whole number"
	case float64:
		return "a number with a fraction"
	case bool:
		return "a boolean"
	case []any:
		return "a list"
	case map[string]any:
		return "a section"
	default:
		return "a date or time"
	}
}
