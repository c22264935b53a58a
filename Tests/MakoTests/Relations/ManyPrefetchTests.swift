import Mako
import Testing

@Suite struct ManyPrefetchTests {
    let db: Database

    init() throws { db = try makeDatabase([Playlist.self, Tune.self, Ticket.self] + people) }

    private func fillDepartments() throws {
        for name in ["Engines", "Wheels", "Nobody"] {
            let department = Department(name: name)
            try db.save(department)
            if name == "Nobody" { continue }
            try db.save((1...3).map { Person(name: "\(name) \($0)", department: department) })
        }
        try db.save(Person(name: "Free"))
    }

    private func names(_ departments: [Department]) throws -> [[String]] {
        try departments.map { try $0.people.load().compactMap(\.name) }
    }

    @Test func collectionsAreLoadedTogether() throws {
        let songs = (1...6).map { Tune(title: "song \($0)") }
        for each in 0..<3 {
            let list = Playlist(name: "list \(each)", songs: [songs[each], songs[each + 3], songs[each]])
            list.byMood = ["calm": songs[0]]
            try db.save(list)
        }
        let lists = try db.query(Playlist.self).prefetch(\.songs).prefetch(\.byMood).orderBy(\.id).fetch()
        let loads = db.metrics.lazyLoads
        #expect(lists.map { $0.songs.compactMap(\.id) } == [[1, 2, 1], [3, 4, 3], [5, 6, 5]])
        // One object for each row among all of them.
        #expect(lists.allSatisfy { $0.byMood["calm"] === lists[0].songs[0] })
        #expect(db.metrics.lazyLoads == loads)
    }

    @Test func keysOfPropertiesAreLoadedToo() throws {
        let (a, b) = (Ticket(code: "a"), Ticket(code: "b"))
        a.wearers = [b]
        try db.save(a)
        let found = try db.query(Ticket.self).prefetch(\.wearers).orderBy(\.code).fetch()
        let loads = db.metrics.lazyLoads
        #expect(found[0].wearers.map(\.code) == ["b"] && found[0].wearers.first === found[1])
        #expect(db.metrics.lazyLoads == loads)
    }

    @Test func queriesOfTheOtherSideAreAnswered() throws {
        try fillDepartments()
        let departments = try db.query(Department.self).prefetch(\.people).orderBy(\.id).fetch()
        let expected = [
            ["Engines 1", "Engines 2", "Engines 3"], ["Wheels 1", "Wheels 2", "Wheels 3"], [],
        ]
        // The children were created with references to their parents, so following them reads nothing.
        let lazy = db.metrics.lazyLoads
        for (department, names) in zip(departments, expected) {
            let found = try department.people.load()
            #expect(found.compactMap(\.name) == names)
            #expect(found.allSatisfy { $0.department === department })
        }
        #expect(db.metrics.lazyLoads == lazy)
        // The first fetch takes the prefetched rows; later ones read the file, with the same result.
        #expect(try names(Array(departments)) == expected)
    }

    @Test func asyncLoadsReturnThePrefetchedMembers() async throws {
        try fillDepartments()
        let departments = try await db.query(Department.self).prefetch(\.people).orderBy(\.id).fetch()
        let lazy = db.metrics.lazyLoads
        for (department, count) in zip(departments, [3, 3, 0]) {
            let found = try await department.people.load()
            #expect(found.count == count)
            #expect(found.allSatisfy { $0.department === department })
        }
        #expect(db.metrics.lazyLoads == lazy)
    }

    @Test func whatWasCommittedSinceIsShown() throws {
        try fillDepartments()
        let departments = try db.query(Department.self).prefetch(\.people).orderBy(\.id).fetch()
        try db.save(Person(name: "New", department: departments[2]))
        #expect(try names(Array(departments))[2] == ["New"])
        try db.transaction { _ in
            let inside = try db.query(Department.self).prefetch(\.people).orderBy(\.id).fetch()
            try db.save(Person(name: "Newer", department: inside[2]))
            #expect(try names(Array(inside))[2] == ["New", "Newer"])
        }
        // Rows prefetched before a transaction do not hide the writes of the transaction.
        let before = try db.query(Department.self).prefetch(\.people).orderBy(\.id).fetch()
        try db.transaction { _ in
            try db.save(Person(name: "Newest", department: before[2]))
            #expect(try names(Array(before))[2] == ["New", "Newer", "Newest"])
        }
    }

    @Test func pathsLeadThroughThem() throws {
        let oslo = Location(name: "Oslo")
        let department = Department(name: "Engines", location: oslo)
        try db.save([Person(name: "Ada", department: department), Person(name: "Bob", department: department)])
        let people = try db.query(Person.self).prefetch(\.department.people).fetch()
        #expect(try people[0].department?.people.load().count == 2)
    }

    @Test func whatHoldsNoObjectsIsRefused() throws {
        #expect(throws: MakoError.self) { try db.query(Person.self).prefetch(\.name).fetch() }
        #expect(throws: MakoError.self) { try db.query(Person.self).prefetch(\.nicknames).fetch() }
    }
}
