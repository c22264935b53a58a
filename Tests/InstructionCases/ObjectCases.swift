import Dispatch
import Mako

extension InstructionCase {
    /// Objects.
    static let objects = [
        InstructionCase("save-100", 20) { place in
            let db = try place.stocked()
            return { number in
                try db.save(
                    (0..<100).map { Ware(name: "new \($0)", code: 1000 + number, kind: $0 % 10, price: Double($0)) })
            }
        },
        InstructionCase("fetch-by-id", 1000) { place in
            let db = try place.stocked()
            return { number in
                try expect(try db.find(Ware.self, number % 1000 + 1)?.name, "ware \(number % 1000)")
            }
        },
        InstructionCase("read-list", 30) { place in
            let db = try place.stocked()
            let basket = Basket(wares: try db.query(Ware.self).where(\.code < 100).fetch().array)
            try db.save(basket)
            return { _ in
                let found = try db.query(Basket.self).first()
                try expect(found?.wares.reduce(0) { $0 + $1.code }, 4950)
            }
        },
        InstructionCase("json-property", 100) { place in
            let db = try place.stocked()
            let values = Dictionary(uniqueKeysWithValues: (0..<20).map { ("key \($0)", $0) })
            let setting = Setting(name: "one", values: values)
            try db.save(setting)
            return { number in
                setting.values["key 3"] = number
                try db.save(setting)
                try expect(try db.query(Setting.self).first()?.values["key 3"], number)
            }
        },
        InstructionCase("live-query", 50) { place in
            let db = try place.stocked()
            let changed = DispatchSemaphore(value: 0)
            let token = db.query(Ware.self).where(\.kind == 3).orderBy(\.price).observe(
                on: DispatchQueue(label: "live")
            ) { _ in changed.signal() }
            changed.wait()
            guard let ware = try db.query(Ware.self).where(\.code == 13).first() else {
                throw WrongResult(description: "no ware 13")
            }
            return { number in
                try withExtendedLifetime(token) {
                    ware.price = Double(number % 200)
                    try db.save(ware)
                    changed.wait()
                }
            }
        },
    ]
}
