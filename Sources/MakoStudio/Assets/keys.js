// The keys of the page, as the help shows them; docs/studio.md has the same list, and a test compares both.

export const SHORTCUTS = [
    { name: "Everywhere", keys: [
        ["?", "show the shortcuts"],
        ["/", "find a table"],
        ["f", "go to the condition above the grid"],
        ["p", "pin the newest commit, or release it"],
        ["g t", "show the tables"],
        ["g q", "show the query"],
        ["g l", "show what changes live"],
        ["g h", "show the history"],
        ["g p", "show pages and storage"],
        ["g d", "show the schema as a diagram"],
        ["Esc", "leave a field, close a dialog or the menu"],
    ] },
    { name: "In a grid", keys: [
        ["↑ ↓ ← →", "go from cell to cell"],
        ["PageUp PageDown", "go up or down by what is in sight"],
        ["Home End", "go to the first or last column"],
        ["Ctrl+Home Ctrl+End", "go to the first or last row"],
        ["Enter", "open the row"],
        ["s", "sort by the column, the other way, or not at all"],
        ["v", "show the values of the column, and filter by one"],
        ["=", "filter by the value of the cell"],
        ["Shift+← Shift+→", "make the column narrower or wider"],
        ["Ctrl+C", "copy the value"],
        ["F2", "change the value, in write mode"],
        ["Insert", "insert a row, in write mode"],
        ["Delete", "delete the row, in write mode"],
    ] },
    { name: "In a condition or a query", keys: [
        ["Ctrl+Space", "complete the word"],
        ["↑ ↓", "choose among the words"],
        ["Tab", "take the word chosen"],
        ["Ctrl+Enter", "run the query"],
        ["Alt+↑ Alt+↓", "go through earlier queries"],
    ] },
    { name: "Among open queries", keys: [
        ["← →", "go to the one beside"],
        ["F2", "name the query"],
        ["Delete", "close the query"],
    ] },
];
