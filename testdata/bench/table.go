package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// printTable prints the results as a Markdown table.
func printTable(w io.Writer, lines []line) {
	if len(lines) == 0 {
		return
	}
	rows := [][]string{{"contest", "contestant", "median", "range", "unit", "CPU µs each", "ratio", "range", "wanted", ""}}
	last := ""
	for i := range lines {
		row := lines[i].cells()
		if row[0] == last {
			row[0] = ""
		}
		last = lines[i].Contest
		rows = append(rows, row)
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	fmt.Fprintln(w)
	for i, row := range rows {
		printRow(w, row, widths)
		if i == 0 {
			rule := make([]string, len(row))
			for c := range rule {
				rule[c] = strings.Repeat("-", widths[c])
			}
			printRow(w, rule, widths)
		}
	}
}

func printRow(w io.Writer, row []string, widths []int) {
	for i, cell := range row {
		fmt.Fprint(w, "| ", cell, strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+1))
	}
	fmt.Fprintln(w, "|")
}

func (l *line) cells() []string {
	cells := []string{l.Contest, l.Contestant, number(l.Value.Median), span(l.Value, number), l.Unit, "", "", "", "", ""}
	if l.CPU.Median > 0 {
		cells[5] = fmt.Sprintf("%.1f", l.CPU.Median)
	}
	if l.Ratio == nil {
		return cells
	}
	short := func(v float64) string { return fmt.Sprintf("%.2f", v) }
	cells[6], cells[7] = short(l.Ratio.Median), span(*l.Ratio, short)
	if l.AtLeast > 0 {
		cells[8], cells[9] = fmt.Sprint(l.AtLeast), "met"
	}
	if l.missed() {
		cells[9] = "missed"
	}
	return cells
}

func span(f figures, format func(float64) string) string {
	if f.Min == f.Max {
		return ""
	}
	return format(f.Min) + "–" + format(f.Max)
}

// number writes a value with the digits that mean something.
func number(v float64) string {
	switch {
	case math.Abs(v) >= 100:
		return fmt.Sprintf("%.0f", v)
	default:
		return fmt.Sprintf("%.1f", v)
	}
}
