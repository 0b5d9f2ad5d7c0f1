package mysql

import "testing"

// A name is no option: a table with a column that is called so can be read.
func TestAColumnThatIsNamedCompressedIsReadable(t *testing.T) {
	t.Parallel()
	const definition = "CREATE TABLE `labs` (\n  `id` int(11) NOT NULL,\n  `compressed` tinyint(1) NOT NULL DEFAULT 0\n)"
	if part := unreadablePart(definition); part != "" {
		t.Errorf("the table is said to have %s", part)
	}
}
