import Foundation
import Mako
import TestHelpers
import Testing

// The program that the tutorial builds. Each of its files, `Mako.docc/Resources/Recipes-N.swift`, has the lines of steps 1 to N.

// STEP 1
@Entity final class Recipe {
    var name = ""
    var minutes = 0
    // STEP 3
    var book: Cookbook?
    // STEP 1
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

// STEP 2
/// The recipes that take at most so many minutes, by name.
func quickRecipes(in db: Database, minutes: Int) throws -> [Recipe] {
    try db.query(Recipe.self)
        .where(\.minutes <= minutes)
        .orderBy(\.name)
        .fetch().array
}

// STEP 3
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

// STEP 4
/// Puts recipes into a new book: all of them or, after an error, none.
func bind(_ recipes: [Recipe], as title: String, in db: Database) throws -> Cookbook {
    try db.transaction { _ in
        let book = Cookbook(title: title)
        for recipe in recipes { recipe.book = book }
        try db.save(recipes)  // the book, too
        return book
    }
}

// STEP 5
/// Shows the names of all recipes, now and after each commit that changes them.
func followRecipes(in db: Database, show: ([String]) -> Bool) async throws {
    for try await difference in db.query(Recipe.self).orderBy(\.name).observe() {
        if !show(difference.results.map(\.name)) { break }
    }
}
// STEP ends

@Suite struct TutorialExampleTests {
    @Test func theProgramOfTheTutorialRuns() async throws {
        try await withTemporaryFile { path in
            let db = try openRecipes(at: path)
            try addRecipes(to: db)
            let quick = try quickRecipes(in: db, minutes: 10)
            #expect(quick.map(\.name) == ["Salad", "Toast"])
            let book = try bind(quick, as: "Quick", in: db)
            #expect(try recipes(of: "Quick", in: db) == ["Salad", "Toast"])
            #expect(try book.recipes.count == 2)
            #expect(throws: MakoError.self) {
                try bind(try db.query(Recipe.self).fetch().array, as: "Quick", in: db)
            }
            #expect(try recipes(of: "Quick", in: db) == ["Salad", "Toast"])
            var shown: [[String]] = []
            try await followRecipes(in: db) { names in
                shown.append(names)
                if names.count == 3 { _ = try? db.query(Recipe.self).where(\.name == "Soup").delete() }
                return names.count == 3
            }
            #expect(shown == [["Salad", "Soup", "Toast"], ["Salad", "Toast"]])
            try await db.close()
        }
    }
}
