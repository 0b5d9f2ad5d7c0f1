package main

import (
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

const maxSubject = 72

// checkSubjects checks the subjects of the commits after since, without merges. It reports whether a check failed.
func checkSubjects(out io.Writer, since string) (bool, error) {
	if !reaches(since) {
		fmt.Fprintf(out, "skipped: commit subjects: this history does not reach back to %.12s; fetch all of it to check them\n", since)
		return false, nil
	}
	log, err := exec.Command("git", "log", "--no-merges", "--format=%h %s", since+"..HEAD").Output()
	if err != nil {
		return true, fmt.Errorf("list commits: %w", err)
	}
	return checkLog(out, string(log)), nil
}

// reaches reports whether the commit is an ancestor of HEAD in this clone.
func reaches(commit string) bool {
	return exec.Command("git", "merge-base", "--is-ancestor", commit, "HEAD").Run() == nil
}

// checkLog checks lines of a short hash and a subject. It reports whether a check failed.
func checkLog(out io.Writer, log string) bool {
	failed := false
	for line := range strings.Lines(log) {
		hash, subject, _ := strings.Cut(strings.TrimSpace(line), " ")
		if problem := subjectProblem(subject); problem != "" {
			failed = true
			fmt.Fprintf(out, "commit %s: %q: %s\n", hash, subject, problem)
		}
	}
	return failed
}

var (
	areas  = regexp.MustCompile(`^[a-z0-9][\w./-]*(?:(?:, | and )[a-z0-9][\w./-]*)*: `)
	figure = regexp.MustCompile(`\d lines\b|->|→`)
)

// subjectProblem returns the first rule that a subject breaks, or "".
func subjectProblem(subject string) string {
	if strings.HasPrefix(subject, `Revert "`) {
		return ""
	}
	prefix := areas.FindString(subject)
	rest := subject[len(prefix):]
	switch {
	case prefix == "":
		return "begin with the area in lower case, as in \"mysqldb: treat a full disk as temporary\""
	case utf8.RuneCountInString(subject) > maxSubject:
		return fmt.Sprintf("%d characters, at most %d; the body has room", utf8.RuneCountInString(subject), maxSubject)
	case strings.Contains(rest, ":"):
		return "one colon only, after the area"
	case figure.MatchString(rest):
		return "figures of before and after belong into the body"
	}
	return moodProblem(strings.Fields(rest))
}

var (
	notVerbs = strings.Fields(`a an the this that these those its it no every each all some both one two three of in on at as
		for from with without what who when where which how whether if and or but not only also there`)
	states      = strings.Fields("is are was were has")
	auxiliaries = strings.Fields("is are was were has have had does did can may must will would should")
	asksWhat    = strings.Fields("what who which how where when why that whether if there as")
	inS         = regexp.MustCompile(`(?:ss|us)$|^(?:bias|alias)$`)
	inEd        = regexp.MustCompile(`eed$|^(?:embed|shed|wed|bed)$`)
	inIng       = regexp.MustCompile(`^(?:bring|ping|ring|string|swing|sing)$`)
)

// moodProblem returns a hint for words that do not begin with an imperative, or "". It finds an article or a pronoun at
// the beginning, a third person, a past tense, a participle, and a statement.
func moodProblem(words []string) string {
	if len(words) == 0 {
		return "say what the commit does"
	}
	verb := words[0]
	evident := slices.Contains(notVerbs, verb) || slices.Contains(auxiliaries, verb) || verb != strings.ToLower(verb) ||
		strings.HasSuffix(verb, "s") && !inS.MatchString(verb) ||
		strings.HasSuffix(verb, "ed") && !inEd.MatchString(verb) ||
		strings.HasSuffix(verb, "ing") && !inIng.MatchString(verb)
	if evident || describes(words) {
		return "begin with an imperative: \"treat a full disk as temporary\", not \"a full disk is temporary\""
	}
	return ""
}

// describes reports whether the second or third word is a verb, which makes the subject a statement.
func describes(words []string) bool {
	for i := 1; i < min(3, len(words)); i++ {
		if slices.Contains(states, words[i]) && !slices.Contains(asksWhat, words[i-1]) {
			return true
		}
	}
	return false
}
