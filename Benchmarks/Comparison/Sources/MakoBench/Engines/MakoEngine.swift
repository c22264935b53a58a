import MakoStorage

/// Mako's storage engine through the public interface of `MakoStorage`.
final class MakoEngine: KeyValueEngine, @unchecked Sendable {
    static let name = "Mako"

    private let store: Store
    private let tree: Tree
    private let maker = ValueMaker()

    init(_ setup: Setup) throws {
        var options = StoreOptions()
        // `ordered` writes every commit to the system before it returns, like the peers' relaxed modes.
        options.durability =
            switch setup.durability {
            case .full: .full
            case .async: .async
            case .relaxed, .none: .ordered
            }
        options.cacheBytes = setup.memoryBytes
        // Only explicit checkpoints: nothing else may retire the log.
        if setup.keepsLog { options.background = .manual }
        store = try Store(at: setup.directory + "/data.mako", options: options)
        tree = try store.write { transaction in
            try transaction.view.tree(named: "data")
                ?? transaction.createTree(named: "data", keys: setup.keys == .integers ? .integer : .bytes)
        }
    }

    private var value: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: maker.bytes, count: ValueMaker.size)
    }

    func insert(_ keys: [UInt64], order: KeyOrder) throws {
        let (tree, value) = (tree, value)
        try store.write { transaction in
            if order == .bulk {
                try transaction.bulkLoad(into: tree) { loader in
                    for key in keys {
                        maker.make(key)
                        try loader.append(value, for: key)
                    }
                }
                return
            }
            for key in keys {
                maker.make(key)
                try transaction.put(value, for: key, in: tree)
            }
        }
    }

    func insert(_ keys: StringKeys, order: KeyOrder) throws {
        let (tree, value) = (tree, value)
        try store.write { transaction in
            if order == .bulk {
                try transaction.bulkLoad(into: tree) { loader in
                    try keys.bytes.withUnsafeBytes { bytes in
                        for index in 0..<keys.count {
                            maker.make(keys.numbers[index])
                            let start = index * StringKeys.width
                            try loader.append(
                                value, for: UnsafeRawBufferPointer(rebasing: bytes[start..<start + StringKeys.width]))
                        }
                    }
                }
                return
            }
            try keys.bytes.withUnsafeBytes { bytes in
                for index in 0..<keys.count {
                    maker.make(keys.numbers[index])
                    let start = index * StringKeys.width
                    let key = UnsafeRawBufferPointer(rebasing: bytes[start..<start + StringKeys.width])
                    try transaction.put(value, for: key, in: tree)
                }
            }
        }
    }

    func deleteRange(_ keys: ClosedRange<UInt64>) throws {
        let tree = tree
        _ = try store.write { try $0.deleteRange(keys, in: tree) }
    }

    func deleteRange(_ range: Range<Int>, of keys: StringKeys) throws {
        let tree = tree
        _ = try store.write { try $0.deleteRange(from: keys[range.lowerBound], to: keys[range.upperBound], in: tree) }
    }

    func delete(_ keys: [UInt64]) throws {
        let tree = tree
        try store.write { transaction in
            guard try transaction.delete(keys: keys, in: tree) == keys.count else {
                throw BenchmarkError("keys are missing")
            }
        }
    }

    func delete(_ keys: StringKeys) throws {
        let tree = tree
        try store.write { transaction in
            try keys.bytes.withUnsafeBytes { bytes in
                for start in stride(from: 0, to: keys.count, by: 1000) {
                    let group = (start..<min(start + 1000, keys.count)).map { index in
                        let place = index * StringKeys.width
                        return UnsafeRawBufferPointer(rebasing: bytes[place..<place + StringKeys.width])
                    }
                    guard try transaction.delete(keys: group, in: tree) == group.count else {
                        throw BenchmarkError("keys are missing")
                    }
                }
            }
        }
    }

    func settle() throws {
        try store.checkpoint()
    }

    func gets(_ keys: [UInt64]) throws -> UInt64 {
        let tree = tree
        return try store.read { snapshot in
            var sum: UInt64 = 0
            for key in keys {
                guard let read = try snapshot.withValue(of: key, in: tree, { touch($0) }) else { throw missing(key) }
                sum &+= read
            }
            return sum
        }
    }

    func getsInOwnTransactions(_ keys: [UInt64]) throws -> UInt64 {
        let tree = tree
        var sum: UInt64 = 0
        for key in keys {
            let read = try store.read { snapshot in try snapshot.withValue(of: key, in: tree) { touch($0) } }
            guard let read else { throw missing(key) }
            sum &+= read
        }
        return sum
    }

    func serialGets(_ count: Int, records: Int) throws -> UInt64 {
        let tree = tree
        return try store.read { snapshot in
            var sum: UInt64 = 0
            var key: UInt64 = 1
            for step in 0..<count {
                guard let read = try snapshot.withValue(of: key, in: tree, { touch($0) }) else { throw missing(key) }
                sum &+= read
                key = successor(of: read, step: step, records: UInt64(records))
            }
            return sum
        }
    }

    func multiGets(_ keys: [UInt64], batch: Int) throws -> UInt64 {
        let tree = tree
        return try store.read { snapshot in
            var sum: UInt64 = 0
            var start = 0
            while start < keys.count {
                let group = Array(keys[start..<min(start + batch, keys.count)])
                try snapshot.withValues(of: group, in: tree) { index, value in
                    guard let value else { throw missing(group[index]) }
                    sum &+= touch(value)
                }
                start += batch
            }
            return sum
        }
    }

    func gets(_ keys: StringKeys) throws -> UInt64 {
        let tree = tree
        return try store.read { snapshot in
            var sum: UInt64 = 0
            var key = [UInt8](repeating: 0, count: StringKeys.width)
            for index in 0..<keys.count {
                keys.copyKey(index, to: &key)
                guard let read = try snapshot.withValue(of: key, in: tree, { touch($0) }) else {
                    throw missing(keys.numbers[index])
                }
                sum &+= read
            }
            return sum
        }
    }

    func scan() throws -> UInt64 {
        let tree = tree
        return try store.read { snapshot in
            var sum: UInt64 = 0
            switch tree.keys {
            case .integer:
                try snapshot.forEach(in: tree) { key, value in
                    sum &+= key &+ touch(value)
                    return true
                }
            case .bytes:
                try snapshot.forEach(in: tree, from: []) { key, value in
                    sum &+= key.loadUnaligned(as: UInt64.self) &+ touch(value)
                    return true
                }
            }
            return sum
        }
    }

    func shortScans(_ starts: [UInt64], length: Int) throws -> UInt64 {
        let tree = tree
        return try store.read { snapshot in
            var sum: UInt64 = 0
            for start in starts {
                var left = length
                try snapshot.forEach(in: tree, from: start) { key, value in
                    sum &+= key &+ touch(value)
                    left -= 1
                    return left > 0
                }
            }
            return sum
        }
    }

    func update(_ keys: ArraySlice<UInt64>, round: UInt64, perTransaction: Int) throws {
        let (tree, value) = (tree, value)
        var rest = keys
        while !rest.isEmpty {
            try store.write { transaction in
                for key in rest.prefix(perTransaction) {
                    maker.make(key &+ round)
                    try transaction.put(value, for: key, in: tree)
                }
            }
            rest = rest.dropFirst(perTransaction)
        }
    }

    func reachableBytes() throws -> UInt64 {
        let stats = store.stats
        return UInt64(stats.livePages * stats.pageBytes)
    }

    /// Bytes of log since opening.
    var logBytes: UInt64 { store.stats.logBytes }

    private func commitOne(_ key: UInt64, _ maker: ValueMaker) throws {
        maker.make(key)
        let value = UnsafeRawBufferPointer(start: maker.bytes, count: ValueMaker.size)
        let tree = tree
        try store.write { transaction in try transaction.put(value, for: key, in: tree) }
    }

    func commitEach(_ keys: Range<UInt64>) throws {
        for key in keys { try commitOne(key, maker) }
    }

    func commitEach(_ keys: Range<UInt64>, threads: Int) throws {
        let share = UInt64(keys.count / threads)
        try onThreads(threads) { thread in
            let maker = ValueMaker()
            let start = keys.lowerBound + UInt64(thread) * share
            for key in start..<start + share { try self.commitOne(key, maker) }
        }
    }

    func close() throws {
        try store.close()
    }
}
