import Mako

@Entity final class Recipe {
    var name = ""
    var minutes = 0
    var book: Cookbook?
}

/// Opens the file, or creates it.
func openRecipes(at path: String) throws -> Database {
    try Database(at: path, entities: [Recipe.self])
}

func addRecipes(to db: Database) throws {
    let soup = Recipe(name: "Soup", minutes: 40)
    let salad = Recipe(name: "Salad", minutes: 10)
    try db.save([soup, salad])
    let toast = Recipe(name: "Toast")
    toast.minutes = 5
    try db.save(toast)
}

/// The recipes that take at most so many minutes, by name.
func quickRecipes(in db: Database, minutes: Int) throws -> [Recipe] {
    try db.query(Recipe.self)
        .where(\.minutes <= minutes)
        .orderBy(\.name)
        .fetch().array
}

@Entity final class Cookbook {
    @Attribute(.unique) var title = ""
    @Relationship(inverse: \Recipe.book) var recipes: ToMany<Recipe>
}

func recipes(of title: String, in db: Database) throws -> [String] {
    try db.query(Recipe.self)
        .where(\.book.title == title)
        .orderBy(\.name)
        .fetch().map(\.name)
}

/// Puts recipes into a new book: all of them or, after an error, none.
func bind(_ recipes: [Recipe], as title: String, in db: Database) throws -> Cookbook {
    try db.transaction { _ in
        let book = Cookbook(title: title)
        for recipe in recipes { recipe.book = book }
        try db.save(recipes)  // the book, too
        return book
    }
}

/// Shows the names of all recipes, now and after each commit that changes them.
func followRecipes(in db: Database, show: ([String]) -> Bool) async throws {
    for try await difference in db.query(Recipe.self).orderBy(\.name).observe() {
        if !show(difference.results.map(\.name)) { break }
    }
}
