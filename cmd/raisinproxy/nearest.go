package main

import (
	"iter"
	"slices"
	"strings"
)

// nearest is the known path that a mistaken one was most likely meant to be: by
// the letters to change, where a right name in a wrong section counts as near.
func nearest(path string, known iter.Seq[string]) string {
	best, fewest := "", -1
	for _, candidate := range slices.Sorted(known) {
		n := min(distance(path, candidate), distance(lastPart(path), lastPart(candidate))+wrongSection)
		if fewest < 0 || n < fewest {
			best, fewest = candidate, n
		}
	}
	return best
}

// wrongSection is how many wrong letters a wrong section counts for.
const wrongSection = 3

func lastPart(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// distance is the least number of letters to insert, delete, change or swap with
// their neighbour to make b of a.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, before
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
