import Foundation
import Mako
import TestHelpers
import Testing

enum RuledNames {
    @Entity class FieldNote {
        #Index<FieldNote>([\.title])
        #Unique<FieldNote>([\.title, \.year])
        @Attribute(.fullText) var title = ""
        var year = 0
        var placeOfWork: WorkPlace?
        var subject: (any ObjectEntity)?
    }

    @Entity final class LongFieldNote: FieldNote {
        var pages = 0
    }

    @Entity final class WorkPlace {
        var name = ""
        @Relationship(inverse: \FieldNote.placeOfWork) var notes: ToMany<FieldNote>
        var visits: [DayVisit] = []
    }

    @Entity final class DayVisit {
        var day = 0
    }

    @Entity("ListOfTerms") final class Term {
        var word = ""
    }

    /// Only in databases that name tables as their types are called.
    @Entity final class PlainThing {
        var name = ""
    }

    @Entity final class URLCache {
        var url = ""
    }

    /// Its table would be called as that of the other one.
    @Entity final class UrlCache {
        var size = 0
    }

    @Entity final class LateThing {
        @Attribute(.fullText) var name = ""
    }
}

/// Types whose tables a database names.
@Suite struct TableNamingTests {
    private static let entities: [any Entity.Type] = [
        RuledNames.FieldNote.self, RuledNames.LongFieldNote.self, RuledNames.WorkPlace.self, RuledNames.Term.self,
    ]
    private let options = DatabaseOptions(tableNaming: .snakeCase)

    private func filled(_ db: Database) throws {
        let place = RuledNames.WorkPlace(name: "Kiel")
        place.visits = [RuledNames.DayVisit(day: 3)]
        try db.save(RuledNames.FieldNote(title: "steam engines", year: 1, placeOfWork: place, subject: place))
        try db.save(RuledNames.LongFieldNote(["title": "long steam", "year": 2, "placeOfWork": place, "pages": 9]))
        try db.save(RuledNames.Term(word: "valve"))
    }

    @Test func namingsNameTables() {
        let names = ["Person", "SmallPerson", "URLCache", "person_Old", "X", "Http2Page"]
        #expect(
            names.map(TableNaming.snakeCase.table(of:))
                == ["person", "small_person", "url_cache", "person_old", "x", "http2_page"])
        #expect(TableNaming.prefixed("app_").table(of: "Person") == "app_Person")
        #expect(TableNaming.prefixed("app_", .snakeCase).table(of: "SmallPerson") == "app_small_person")
        #expect(TableNaming.prefixed("a") != TableNaming.prefixed("b"))
    }

    @Test func subclassesReferencesAndIndexesHaveTheNames() throws {
        let db = try Database.inMemory(entities: Self.entities, options: options)
        try filled(db)
        #expect(
            db.tables.map(\.name) == ["ListOfTerms", "day_visit", "field_note", "long_field_note", "work_place"])
        let note = try #require(db.tables.first { $0.name == "field_note" })
        #expect(note.indexes.count >= 3)
        #expect(note.column(named: "placeOfWork")?.target == "work_place")
        let read = try #require(try db.query(RuledNames.FieldNote.self).first())
        #expect(read.placeOfWork?.name == "Kiel" && read.placeOfWork?.visits.map(\.day) == [3])
        #expect((read.subject as? RuledNames.WorkPlace)?.name == "Kiel")
        #expect(try read.placeOfWork?.notes.count == 1)
        #expect(throws: MakoError.self) { try db.save(RuledNames.FieldNote(title: "steam engines", year: 1)) }
        let all = db.query(RuledNames.FieldNote.self).includingSubclasses()
        let found = try all.where(.match("steam")).orderBy(\.title).fetch()
        #expect(found.map(\.title) == ["long steam", "steam engines"])
        try db.delete(try #require(read.placeOfWork))
        #expect(try db.query(RuledNames.FieldNote.self).first()?.placeOfWork == nil)
        #expect(try db.query(RuledNames.FieldNote.self).first()?.subject == nil)
    }

    @Test func textsNameTablesAsTheyAreStored() throws {
        let db = try Database.inMemory(entities: Self.entities, options: options)
        try filled(db)
        let rows = try db.rawQuery(
            "SELECT field_note.title FROM field_note JOIN work_place ON field_note.placeOfWork = work_place.id")
        #expect(rows.rows.count == 1)
        #expect(throws: MakoError.self) { try db.rawQuery("SELECT title FROM FieldNote") }
        let notes = db.query(RuledNames.FieldNote.self)
        #expect(try notes.where("placeOfWork IN (SELECT id FROM work_place WHERE name = 'Kiel')").count() == 1)
        #expect(try notes.where("placeOfWork.name = 'Kiel'").count() == 1)
        #expect(try notes.where(.match("engines")).count() == 1)
        #expect(try notes.where("FieldNote MATCH 'engines'").count() == 1)
        #expect(try notes.joinTo(\.placeOfWork).where("WorkPlace.name = 'Kiel'").count() == 1)
        #expect(try db.query(RuledNames.WorkPlace.self).where("ANY visits.day = 3 AND notes.@count = 1").count() == 1)
        #expect(try db.query(RuledNames.Term.self).where(\.word == "valve").count() == 1)
        // This query is the type's first use.
        #expect(try db.query(RuledNames.LateThing.self).where(.match("x")).count() == 0)
        try db.query(RuledNames.FieldNote.self).update().set(\.year, to: 7).run()
        #expect(try notes.delete() == 1)
    }

    @Test func observersAreNotified() throws {
        let db = try Database.inMemory(options: options)
        let titles = Collected<String?>()
        // Before the type is used for the first time.
        let token = try RuledNames.FieldNote.onChange(.insert, in: db) { titles.append($0.object?.title) }
        try filled(db)
        #expect(titles.all == ["steam engines"])
        withExtendedLifetime(token) {}
    }

    @Test func aFileRemembersItsNaming() throws {
        try withTemporaryFile { path in
            var db = try Database(at: path, entities: Self.entities, options: options)
            try filled(db)
            try db.close()
            db = try Database(at: path, entities: Self.entities, options: options)
            #expect(db.migrations.isEmpty)
            #expect(try db.query(RuledNames.FieldNote.self).count() == 1)
            // It is open: another naming is another set of options.
            #expect(throws: MakoError.alreadyOpen(path: path)) { try Database(at: path) }
            try db.close()

            var wrong = options
            wrong.tableNaming = .prefixed("x_")
            #expect(throws: MakoError.tableNaming(path: path, stored: "snake_case", requested: "prefix x_")) {
                try Database(at: path, entities: Self.entities, options: wrong)
            }
            #expect(throws: MakoError.tableNaming(path: path, stored: "snake_case", requested: nil)) {
                try Database.migrationPlan(at: path, entities: Self.entities)
            }
            // Without a naming all is there that needs no type, or one that names its table.
            db = try Database(at: path)
            #expect(try db.rawQuery("SELECT title FROM field_note").rows.count == 1)
            #expect(try db.query(RuledNames.Term.self).count() == 1)
            #expect(throws: MakoError.tableNaming(path: path, stored: "snake_case", requested: nil)) {
                try db.query(RuledNames.FieldNote.self).count()
            }
            #expect(db.tables.count == 5)
            try db.close()

            var reading = options
            reading.readOnly = true
            db = try Database(at: path, entities: Self.entities, options: reading)
            #expect(try db.query(RuledNames.LongFieldNote.self).first()?.placeOfWork?.name == "Kiel")
            try db.close()
            let plan = try Database.migrationPlan(at: path, entities: Self.entities, options: options)
            #expect(plan.canBeDone && plan.isEmpty)
        }
    }

    @Test func aFileThatIsNamedByItsTypesStaysSo() throws {
        try withTemporaryFile { path in
            var db = try Database(at: path, entities: [RuledNames.PlainThing.self])
            try db.save(RuledNames.PlainThing(name: "kept"))
            try db.close()
            #expect(throws: MakoError.tableNaming(path: path, stored: nil, requested: "snake_case")) {
                try Database(at: path, entities: [RuledNames.PlainThing.self], options: options)
            }
            db = try Database(at: path, entities: [RuledNames.PlainThing.self])
            #expect(try db.query(RuledNames.PlainThing.self).first()?.name == "kept")
            #expect(db.tables.map(\.name) == ["PlainThing"])
            // A type has one table's name in a process.
            let error = #expect(throws: MakoError.self) {
                try Database.inMemory(entities: [RuledNames.PlainThing.self], options: options)
            }
            #expect("\(try #require(error))".contains("PlainThing"))
        }
    }

    @Test func twoTypesGetNoTableInCommon() throws {
        let db = try Database.inMemory(entities: [RuledNames.URLCache.self], options: options)
        try db.save(RuledNames.URLCache(url: "kept"))
        let error = #expect(throws: MakoError.self) { try db.save(RuledNames.UrlCache(size: 1)) }
        let text = "\(try #require(error))"
        #expect(text.contains("url_cache") && text.contains("URLCache") && text.contains("UrlCache"))
        #expect(try db.query(RuledNames.URLCache.self).fetch().map(\.url) == ["kept"])
        #expect(db.tables.map(\.name) == ["url_cache"])
    }
}
