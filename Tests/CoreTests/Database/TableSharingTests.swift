import MakoCore
import MakoStorage
import Testing

/// Several types that show one table, in what one of them does to the other.
@Suite(.serialized) struct TableSharingTests {
    private func database() throws -> Database {
        try Database.inMemory(entities: [Crate.self, MarkedCrate.self, Parcel.self, Docker.self])
    }

    // MARK: References

    @Test func everyTypeOfASharedTableCanBeReferredTo() throws {
        let db = try database()
        let crate = Crate(name: "tea")
        let (first, second) = (Docker(carrying: crate), Docker())
        try db.save([first, second])
        let parcel = try #require(try db.query(Parcel.self).first())
        #expect(parcel.id == crate.id)
        #expect(try parcel.dockers.load().map(\.id) == [first.id])
        #expect(try db.query(Docker.self).referencing(parcel).fetch().map(\.id) == [first.id])
        #expect(try db.query(Parcel.self).referenced(by: first).fetch().map(\.label) == ["tea"])
        #expect(parcel.isSame(as: crate) && crate.isSame(as: parcel))
        #expect(!parcel.isSame(as: first))
    }

    @Test func aSubclassInTheTableIsATarget() throws {
        let db = try database()
        let marked = MarkedCrate(name: "gold")
        let docker = Docker(carrying: marked)
        try db.save(docker)
        try db.save(Docker())
        #expect(try db.query(Docker.self).where(\.crate == marked).fetch().map(\.id) == [docker.id])
        #expect(try db.query(Docker.self).where(\.crate != marked).count() == 1)
        let other = MarkedCrate(name: "salt")
        try db.save(other)
        #expect(try db.update(Docker.self).set(\.crate, to: other).run() == 2)
        #expect(try db.query(Docker.self).where(\.crate == other).count() == 2)
    }

    @Test func rowsThatAreOwnedAreKnownByTheirTable() throws {
        let db = try database()
        let docker = Docker()
        docker.chest = Crate(name: "tools")
        try db.save(docker)
        let parcel = try #require(try db.query(Parcel.self).first())
        try db.transaction { _ in
            docker.chest = nil
            try db.save(docker)
            // The row is saved again, by another type: it must stay.
            try db.save(MarkedCrate(name: "kept").numbered(parcel.id))
        }
        #expect(try db.query(Parcel.self).fetch().map(\.label) == ["kept"])
    }

    // MARK: Schemas that cannot be shared

    @Test func ownersAndDeleteRulesAreRefused() throws {
        let db = try database()
        try db.save(Crate(name: "tea"))
        #expect {
            try db.query(CrateOwner.self).count()
        } throws: { "\($0)".contains("CrateOwner") && "\($0)".contains("lid") && "\($0)".contains("own") }
        #expect {
            try db.query(CrateRuler.self).count()
        } throws: { "\($0)".contains("CrateRuler") && "\($0)".contains("dockers") && "\($0)".contains("delete rule") }
        #expect {
            try Database.inMemory(entities: [CrateRuler.self, Parcel.self])
        } throws: { "\($0)".contains("delete rule") }
        #expect(try db.query(Crate.self).fetch().map(\.name) == ["tea"])
        // Alone they may.
        #expect(try Database.inMemory(entities: [CrateOwner.self]).query(CrateOwner.self).count() == 0)
    }

    @Test func aRefusedTypeLeavesTheTableAsItWas() throws {
        let db = try Database.inMemory(entities: [Crate.self])
        try db.save(Crate(name: "tea"))
        let before = db.tables
        try db.transaction { _ in
            #expect { try db.query(CratePart.self).count() } throws: { "\($0)".contains("has no colour") }
            try db.save(Crate(name: "salt"))
        }
        #expect(db.tables == before)
        // A type that is used later finds the rows and the index.
        #expect(try db.query(Parcel.self).where(\.label == "salt").explain().contains("name"))
        #expect(try db.query(Parcel.self).where(\.label == "salt").fetch().map(\.weight) == [5])
        #expect(throws: Never.self) { try db.store.verify() }
    }

    // MARK: Hooks

    @Test func aTypeThatAHookBringsIntoUseHasItsIndexFilled() throws {
        let db = try Database.inMemory(entities: [Crate.self])
        Crate.hook.set { _ = try db.query(Parcel.self).count() }
        try db.save(Crate(name: "tea"))
        #expect(try db.query(Parcel.self).where(\.label == "tea").count() == 1)
        #expect(try db.query(Crate.self).delete() == 1)
        #expect(try db.query(Parcel.self).where(\.label == "tea").count() == 0)
    }

    @Test func aTypeThatAHookOfAReferenceBringsIntoUseHasItsIndexFilled() throws {
        let db = try Database.inMemory(entities: [Crate.self])
        try db.save(Crate(name: "first"))
        let outer = try #require(try db.query(Crate.self).first())
        outer.name = "outer"
        outer.next = Crate(name: "inner")
        Crate.hook.set { _ = try db.query(Parcel.self).count() }
        try db.save(outer)
        for name in ["outer", "inner"] {
            #expect(try db.query(Parcel.self).where(\.label == name).count() == 1, "\(name)")
        }
        #expect(try db.query(Parcel.self).where(\.label == "first").count() == 0)
    }

    @Test(arguments: [false, true]) func aTypeThatTheHookOfARemovalBringsIntoUseLosesTheRow(_ byQuery: Bool) throws {
        let db = try Database.inMemory(entities: [Crate.self])
        let (tea, salt) = (Crate(name: "tea"), Crate(name: "salt"))
        try db.save([tea, salt])
        Crate.hook.set { _ = try db.query(Parcel.self).count() }
        if byQuery { try db.query(Crate.self).delete() } else { try db.delete(tea) }
        #expect(try db.query(Parcel.self).where(\.label == "tea").count() == 0)
        #expect(try db.query(Parcel.self).where(\.label == "salt").count() == (byQuery ? 0 : 1))
        #expect(try db.query(Parcel.self).where("weight = 5").count() == (byQuery ? 0 : 1))
    }

    @Test func whatAHookHasReferToARemovedRowIsReleased() throws {
        let db = try Database.inMemory(entities: [Crate.self])
        let tea = Crate(name: "tea")
        try db.save(tea)
        let docker = Docker()
        Crate.hook.set {
            docker.crate = try db.query(Crate.self).first()
            try db.save(docker)
        }
        try db.delete(tea)
        #expect(try db.query(Docker.self).where(\.crate == nil).count() == 1)
    }

    // MARK: Events

    @Test func handlersSeeTheNamesOfTheirOwnType() throws {
        let db = try database()
        let notified = Guarded<[String]>([])
        let note = { @Sendable (who: String, names: [String]) in
            notified.withLock { $0.append("\(who): \(names.joined(separator: " "))") }
        }
        let tokens = [
            try Crate.onChange(.update, in: db) { note("crate", $0.changedProperties) },
            try Parcel.onChange(.update, in: db) { note("parcel", $0.changedProperties) },
            db.onUpdate { note("all", $0.changedProperties) },
        ]
        try db.save(Crate(name: "tea"))
        let parcel = try #require(try db.query(Parcel.self).first())
        parcel.label = "salt"
        parcel.weight = 7
        try db.save(parcel)
        #expect(Set(notified.withLock { $0 }) == ["crate: name", "parcel: label weight", "all: name weight"])
        withExtendedLifetime(tokens) {}
    }

    @Test func theHistoryOfATypeHasItsNames() throws {
        let db = try HistoryPlace().open(.kept(), [Crate.self, Parcel.self])
        try db.save(Crate(name: "tea"))
        let token = try db.historyToken()
        let parcel = try #require(try db.query(Parcel.self).first())
        parcel.label = "salt"
        parcel.weight = 7
        try db.save(parcel)
        #expect(try db.notified(since: token) == ["update Crate 1 (name, weight)"])
    }

    @Test func theStreamOfATypeHasItsNames() async throws {
        let db = try HistoryPlace().open(.kept(), [Crate.self, Parcel.self])
        let token = try await db.historyToken()
        try await db.transaction { _ in try db.save(Parcel(label: "tea")) }
        try await db.transaction { _ in try db.update(Parcel.self).set(\.label, to: "salt").run() }
        var parcels = db.changes(of: Parcel.self, since: token).makeAsyncIterator()
        #expect(try await parcels.next()?.text == "insert Crate 1")
        #expect(try await parcels.next()?.text == "update Crate 1 (label)")
    }
}

extension Crate {
    fileprivate func numbered(_ id: Int?) -> Self {
        self.id = id
        return self
    }
}
