import Mako

/// A class with new properties since its objects were stored.
enum MigrationChapter {
    static func run(_ folder: Folder) throws {
        Stage.title("5. A property more")
        Stage.say(
            """
            Last year's program stored notebooks with a title. This year's class has two properties more. Opening the \
            file is all it takes: the new columns are there, with their defaults.
            """)
        let path = folder.path("notes.mako")
        let before = try Database(at: path, entities: [NotebookOfLastYear.self])
        try before.save(["Botany", "Recipes", "Travels"].map { NotebookOfLastYear(title: $0) })
        try before.close()

        Stage.code(
            """
            @Entity("Notebook") final class Notebook {
                var title: String = ""
                var pages: Int = 96          // new
                var lentTo: String?          // new
            }
            let db = try Database(at: "notes.mako", entities: [Notebook.self])
            """)
        let after = try Database(at: path, entities: [Notebook.self])
        for step in after.migrations { Stage.note("migration", "\(step.description)") }
        print()
        if let travels = try after.query(Notebook.self).where(\.title == "Travels").first() {
            travels.lentTo = "Ada"
            travels.pages = 120
            try after.save(travels)
        }
        let notebooks = try after.query(Notebook.self).orderBy(\.title).fetch()
        Stage.table(
            ["title", "pages", "lent to"], notebooks.map { [$0.title, String($0.pages), $0.lentTo ?? "(nobody)"] })
        try after.close()
    }
}
