package mysql

import "testing"

func TestPartsOfADefinitionThatTheConnectorsCannotRead(t *testing.T) {
	t.Parallel()
	for definition, want := range map[string]string{
		"CREATE TABLE `a` (\n  `id` int(11) NOT NULL,\n  `ip` inet6 DEFAULT NULL\n)":              "a column of type INET6",
		"CREATE TABLE `a` (\n  `ip` inet4 DEFAULT NULL\n)":                                        "a column of type INET4",
		"CREATE TABLE `a` (\n  `t` text /*M!100301 COMPRESSED*/ DEFAULT NULL\n)":                  "a COMPRESSED column",
		"CREATE TABLE `a` (\n  UNIQUE KEY `x` (`id`,`p` WITHOUT OVERLAPS)\n)":                     "a key WITHOUT OVERLAPS",
		"CREATE TABLE `a` (\n  `inet6` int(11)\n) ROW_FORMAT=COMPRESSED `PAGE_COMPRESSED`='ON'":   "",
		"CREATE TABLE `a` (\n  `compressed` tinyint(1) NOT NULL DEFAULT 0\n)":                     "", // a column name
		"CREATE TABLE `a` (\n  `t` text COMMENT 'it''s COMPRESSED, ` inet6, WITHOUT OVERLAPS'\n)": "",
		"CREATE TABLE `a` (\n  `u` uuid NOT NULL,\n  `j` longtext CHECK (json_valid(`j`))\n)":     "",
	} {
		if got := unreadablePart(definition); got != want {
			t.Errorf("%s: %q, want %q", definition, got, want)
		}
	}
}
