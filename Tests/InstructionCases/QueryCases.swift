import Mako

extension InstructionCase {
    /// Typed queries, and SQL that reads.
    static let queries = [
        InstructionCase("count", 500) { place in
            let db = try place.stocked()
            return { number in try expect(try db.query(Ware.self).where(\.kind == number % 10).count(), 100) }
        },
        InstructionCase("sum-index", 200) { place in
            let db = try place.stocked()
            return { number in
                let first = number % 100
                let sums = try db.rawQuery(
                    "SELECT sum(code) FROM Ware WHERE code BETWEEN ? AND ?", first, first + 199, as: Int.self)
                try expect(sums, [first * 200 + 19_900])
            }
        },
        InstructionCase("group-by", 30) { place in
            let db = try place.stocked()
            return { _ in
                try expect(try db.rawQuery("SELECT kind, count(*), sum(price) FROM Ware GROUP BY kind").rows.count, 10)
            }
        },
        InstructionCase("join", 30) { place in
            let db = try place.stocked()
            return { number in
                let rows = try db.rawQuery(
                    "SELECT w.name, s.name FROM Ware w JOIN Shop s ON s.id = w.shop WHERE s.zone = ? AND w.code < 500",
                    number % 3
                ).rows
                try expect(rows.count >= 150, true)
            }
        },
        InstructionCase("typed-query", 200) { place in
            let db = try place.stocked()
            return { number in
                let found = try db.query(Ware.self).where(\.code >= number % 500 && \.price < 1000)
                    .orderBy(\.code).limit(20).fetch()
                try expect(found.count, 20)
            }
        },
        InstructionCase("decode-rows", 50) { place in
            let db = try place.stocked()
            return { _ in
                let rows = try db.rawQuery(
                    "SELECT name, code, price FROM Ware WHERE code < 500", as: (String, Int, Double).self)
                try expect(rows.count, 500)
            }
        },
        InstructionCase("match", 200) { place in
            let db = try place.stocked()
            let words = ["anchor", "bridge", "castle", "delta", "estuary", "ferry", "gorge"]
            try db.save(
                (0..<300).map { number in
                    Note(text: "\(words[number % 7]) \(words[number % 5]) near \(words[number % 3]) number \(number)")
                })
            return { number in
                let found = try db.query(Note.self)
                    .where(.match(\.text, MatchPattern(allTokens: "\(words[number % 7]) near"))).count()
                try expect(found >= 42, true)
            }
        },
        InstructionCase("parse-plan", 200) { place in
            let db = try place.stocked()
            return { number in
                // A text that was not seen before.
                let rows = try db.rawQuery(
                    text:
                        "SELECT w.name FROM Ware w JOIN Shop s ON s.id = w.shop WHERE w.code = -\(number) AND w.kind < 7"
                ).rows
                try expect(rows.count, 0)
            }
        },
    ]

    /// Prepared statements that write.
    static let statements = [
        InstructionCase("insert-by-position", 20) { place in
            let db = try place.stocked()
            let insert = try db.prepare("INSERT INTO Shop (name, zone) VALUES (?, ?)")
            return { number in
                try db.transaction { _ in for row in 0..<100 { try insert.run("shop \(row)", number) } }
            }
        },
        InstructionCase("insert-by-name", 20) { place in
            let db = try place.stocked()
            let insert = try db.prepare("INSERT INTO Shop (name, zone) VALUES (:name, :zone)")
            return { number in
                try db.transaction { _ in
                    for row in 0..<100 { try insert.run(named: ["name": "shop \(row)", "zone": number]) }
                }
            }
        },
    ]
}
