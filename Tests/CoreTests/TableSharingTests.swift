import MakoCore
import Testing

/// Several types that show one table, in what one of them does to the other.
@Suite(.serialized, .timeLimit(.minutes(1))) struct TableSharingTests {
    private func database() throws -> Database {
        try Database.inMemory(entities: [Crate.self, MarkedCrate.self, Parcel.self, Docker.self])
    }

    // MARK: References

    @Test func whoeverShowsTheTableIsReferredTo() throws {
        let db = try database()
        let crate = Crate(name: "tea")
        let (first, second) = (Docker(carrying: crate), Docker())
        try db.save([first, second])
        let parcel = try #require(try db.query(Parcel.self).first())
        #expect(parcel.id == crate.id)
        #expect(try parcel.dockers.fetch().map(\.id) == [first.id])
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
            // Whoever stores the row anew, by whatever type, wants it.
            try db.save(MarkedCrate(name: "kept").numbered(parcel.id))
        }
        #expect(try db.query(Parcel.self).fetch().map(\.label) == ["kept"])
    }
}

extension Crate {
    fileprivate func numbered(_ id: Int?) -> Self {
        self.id = id
        return self
    }
}
