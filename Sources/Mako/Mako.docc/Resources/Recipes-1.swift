import Mako

@Entity final class Recipe {
    var name = ""
    var minutes = 0
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
