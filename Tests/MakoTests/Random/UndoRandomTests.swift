import Mako
import MakoTestSupport
import Testing

@Entity final class Gauge {
    var label = ""
    var level = 0
    var note: String?
}

/// Random writes, saves and nested transactions of a few objects, of which some are rolled back, against a list of values.
@Suite struct UndoRandomTests {
    private struct Values: Equatable {
        var label: String
        var level: Int
        var note: String?

        init(_ gauge: Gauge) { (label, level, note) = (gauge.label, gauge.level, gauge.note) }
    }

    /// What a rollback restores: the objects, and the rows.
    private struct Moment: Equatable {
        var objects: [Values]
        var rows: [Values?]
    }

    private final class Run {
        let db: Database
        var gauges: [Gauge] = []
        var random: SplitMix
        var expected = Moment(objects: [], rows: [])
        var rolledBack = 0

        init(_ seed: UInt64) throws {
            db = try Database.inMemory(entities: [Gauge.self])
            random = SplitMix(seed: seed)
            for number in 0..<5 {
                let gauge = Gauge(label: "gauge \(number)", level: number)
                // The others are new in a transaction.
                if number < 3 { try db.save(gauge) }
                gauges.append(gauge)
                expected.objects.append(Values(gauge))
                expected.rows.append(number < 3 ? Values(gauge) : nil)
            }
        }

        func write() {
            let place = Int.random(in: gauges.indices, using: &random)
            switch Int.random(in: 0..<3, using: &random) {
            case 0: gauges[place].label = "label \(Int.random(in: 0..<9, using: &random))"
            case 1: gauges[place].level = Int.random(in: 0..<9, using: &random)
            default:
                gauges[place].note = Bool.random(using: &random) ? nil : "note \(Int.random(in: 0..<9, using: &random))"
            }
            expected.objects[place] = Values(gauges[place])
        }

        func save() throws {
            let place = Int.random(in: gauges.indices, using: &random)
            if Bool.random(using: &random) {
                try db.save(gauges[place])
                expected.rows[place] = expected.objects[place]
            } else {
                try db.save(gauges)
                expected.rows = expected.objects
            }
        }

        func transaction(depth: Int) throws {
            let before = expected
            do {
                try db.transaction { tx in
                    for _ in 0..<Int.random(in: 0..<8, using: &random) {
                        switch Int.random(in: 0..<6, using: &random) {
                        case 0 where depth < 3: try transaction(depth: depth + 1)
                        case 0, 1: try save()
                        default: write()
                        }
                    }
                    if Bool.random(using: &random) { try tx.rollback() }
                }
            } catch MakoError.rolledBack {
                expected = before
                rolledBack += 1
            }
            #expect(gauges.map(Values.init) == expected.objects)
        }

        func compare() throws {
            let rows = try gauges.map { gauge in try gauge.id.flatMap { try db.find(Gauge.self, $0) }.map(Values.init) }
            #expect(rows == expected.rows)
        }
    }

    @Test(arguments: UInt64(0)..<40) func objectsAndRowsAreThoseBefore(_ seed: UInt64) throws {
        let run = try Run(seed)
        for _ in 0..<25 {
            if Bool.random(using: &run.random) { run.write() }
            try run.transaction(depth: 0)
            try run.compare()
        }
        #expect(run.rolledBack > 0)
        // No change was forgotten: what differs from the rows is written now.
        try run.db.save(run.gauges)
        run.expected.rows = run.expected.objects
        try run.compare()
    }
}
