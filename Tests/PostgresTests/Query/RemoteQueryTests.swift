import Foundation
import Mako
import MakoCore
import MakoRecords
import MakoTestSupport
import Testing

@testable import MakoPostgres

/// The plans and the decoder of typed queries for another program, without a server.
@Suite struct RemoteQueryTests {
    typealias Ship = Fleet.Ship

    private let db: Database

    init() throws { db = try Database.inMemory(entities: [Ship.self, Fleet.Harbour.self]) }

    private func rendered(_ plan: LogicalPlan) throws -> String {
        try QueryRenderer(place: { PostgresText.name($0) }).query(plan).text
    }

    /// The rows come from a statement here, with the values that PostgreSQL answers.
    @Test(arguments: 1...4 as ClosedRange<UInt64>) func rowsAreDecodedAsThoseOfTheFile(_ seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let harbours = [Fleet.Harbour(name: "Kiel", depth: 9)]
        try db.save(harbours)
        try db.save((0..<30).map { _ in Fleet.ship(harbours, &random) })
        let query = db.query(Ship.self).orderBy("id")
        let remote = try RemoteQuery(query)
        let columns = try remote.rows().first.outputs.compactMap { output in
            if case .column(let column) = output { PostgresText.name(column.path) } else { nil }
        }
        let rows = try db.rawQuery(text: "SELECT \(columns.joined(separator: ", ")) FROM Ship ORDER BY id").rows
        var decoder = remote.decoder()
        var found: [String] = []
        for row in rows { found.append(Fleet.text(try decoder.value(row))) }
        #expect(try found == query.fetch().map(Fleet.text))
        #expect(found.count == 30)
    }

    @Test func theDecoderRefusesValuesOfOtherTypes() throws {
        let remote = try RemoteQuery(db.query(Fleet.Port.self))
        var decoder = remote.decoder()
        #expect(try decoder.value([.text("HAM"), .integer(3)]).piers == 3)
        #expect(throws: MakoError.self) { try decoder.value([.text("HAM"), .text("many")]) }
        // A refused row leaves nothing behind.
        #expect(try decoder.value([.text("KEL"), .integer(4)]).code == "KEL")
    }

    @Test func limitsCountRowsBeforeAggregates() throws {
        let all = db.query(Ship.self).where(\.crew > 1).orderBy(\.name)
        let count = try rendered(try RemoteQuery(all).aggregate(.count, of: nil))
        #expect(!count.contains("ORDER BY") && !count.contains("LIMIT"), "\(count)")
        let sum = try rendered(
            try RemoteQuery(all.limit(3, offset: 1)).aggregate(.sum, of: Query<Ship>.argument(\.crew)))
        #expect(sum.contains("ORDER BY") && sum.contains("LIMIT 3 OFFSET 1) AS"), "\(sum)")
        #expect(try rendered(try RemoteQuery(all).existence()).hasSuffix("LIMIT 1"))
        #expect(try rendered(try RemoteQuery(all.limit(0)).existence()).hasSuffix("LIMIT 0"))
        #expect(try RemoteQuery(db.query(Fleet.Port.self)).rowNumbers() == nil)
    }
}
