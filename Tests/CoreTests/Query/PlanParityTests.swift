import MakoCore
import Testing

/// Every API that runs a query uses the same plan.
@Suite struct PlanParityTests {
    /// Badges go down where ids go up.
    private func sailors() throws -> Database {
        let db = try Database.inMemory(entities: [Sailor.self, Ship.self])
        let sailors = (0..<2000).map { number in
            let sailor = Sailor("s\(number)", age: (number * 7) % 70)
            sailor.badge = 2000 - number
            return sailor
        }
        try db.save(sailors)
        return db
    }

    /// Without an order the rows come as the index has them that was counted to be the better one.
    @Test func cursorsStreamsAndBatchesUseThePlanOfAFetch() async throws {
        let db = try sailors()
        for text in ["age >= 0 AND badge > 1990", "age > 68 AND badge >= 0", "badge > 1990 AND age >= 0"] {
            let query = db.query(Sailor.self).where(text: text)
            let found = try await query.ids()
            var scanned: [Int?] = []
            try query.forEach { scanned.append($0.id) }
            #expect(scanned == found, "\(text)")
            let batched = try await query.batch(7)
            #expect(try (0..<batched.count).map { try batched.object(at: $0).id } == found, "\(text)")
            var streamed: [Int?] = []
            for try await sailor in query.stream() { streamed.append(sailor.id) }
            #expect(streamed == found, "\(text)")
        }
        #expect(try await db.query(Sailor.self).where("age >= 0 AND badge > 1990").explain().contains("badge"))
    }

    /// Results of queries have plans of their own.
    @Test func resultsAreExplained() throws {
        let db = try sailors()
        let all = db.query(Sailor.self)
        func operators(_ terminal: QueryTerminal<Sailor>, of query: Query<Sailor>) throws -> [PlanNode.Operator] {
            let explanation = try query.explanation(terminal, analyzing: true)
            #expect(try explanation.analysis?.plan.outline == query.explanation(terminal).plan.outline)
            #expect(explanation.plan.operators.allSatisfy { $0.counts?.runs ?? 0 > 0 }, "\(explanation)")
            return explanation.plan.operators.map(\.operation).reversed()
        }
        #expect(try operators(.count, of: all) == [.tableCount])
        #expect(try operators(.count, of: all.where("age > 60")) == [.count, .coveringIndexScan])
        #expect(try operators(.min(\.age), of: all) == [.extremes, .limit, .coveringIndexScan])
        #expect(try operators(.max(\.name), of: all) == [.aggregate, .scan])
        #expect(try operators(.sum(\.age), of: all.where("name LIKE 's1%'")) == [.aggregate, .filter, .scan])
        #expect(try operators(.exists, of: all.where("age = 3")) == [.exists, .coveringIndexScan])
        #expect(try operators(.distinct(\.age), of: all) == [.sortedDistinct, .skipScan])
        #expect(try operators(.groupCount(\.name), of: all) == [.hashAggregate, .scan])
        #expect(try operators(.groupCount(\.age), of: all) == [.sortedAggregate, .coveringIndexScan])
        #expect(try all.explain(.max(\.age)).hasPrefix("max(age) by index order\n  limit 1"))
    }

    @Test func anExplanationSaysWhatExplainSays() throws {
        let db = try Database.inMemory(entities: [City.self])
        try db.save(["Rome", "Oslo", "Rome"].map { City(name: $0) })
        let cities = db.query(City.self)
        // Each comes once for each namesake.
        let repeated = cities.joinTo(City.self, left: "name", target: "name", as: "Same")
        #expect(try repeated.explanation().plan.description == repeated.explain())
        for query in [repeated, repeated.where("name = 'Rome'"), repeated.where("name = 'Rome'").limit(1)] {
            let explanation = try query.explanation()
            #expect(explanation.usesIndex("City.name") == explanation.chosen.text.contains("index City.name"))
        }
        #expect(try repeated.explanation().chosen.cost > 0 && repeated.explanation().tableRows >= 3)
        let twins = cities.joinTo(City.self, left: "twin", target: "id", as: "Twin").where("Twin.name = 'Rome'")
        #expect(try twins.explanation().plan.description == twins.explain())
        // A table that no query has used before.
        let foreign = cities.joinTo(Country.self, left: \.name, target: \.code).where("Country.people > 3")
        #expect(try foreign.explanation().plan.description == foreign.explain())
        let other = try Database.inMemory(entities: [City.self]).query(City.self)
        let first = other.joinTo(Country.self, left: \.name, target: \.code)
        #expect(try first.explanation().plan.description == first.explain())
        let second = try Database.inMemory(entities: [City.self]).query(City.self)
        #expect(try second.joinTo(Country.self, left: \.name, target: \.code).batch(5).count == 0)
    }
}
