import MakoTestSupport
import Testing

@testable import MakoStorage

/// The names of the trees of a version against a plain dictionary.
@Suite struct TreeNamesTests {
    @Test(arguments: 0..<4 as Range<UInt64>) func namesAgreeWithADictionary(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var names = TreeNames()
        var model: [String: UInt32] = [:]
        var kept: [(TreeNames, [String: UInt32])] = []
        for step in 0..<3000 {
            let ids = model.values.sorted()
            if random.chance(70) || ids.isEmpty {
                let id = UInt32(step + 1)
                names = names.naming(id, "tree \(id)")
                model["tree \(id)"] = id
            } else {
                let id = ids[random.below(ids.count)]
                model = model.filter { $0.value != id }
                if random.chance(50) {
                    names = names.naming(id, "renamed \(step)")
                    model["renamed \(step)"] = id
                } else {
                    names = names.removing(id)
                    #expect(names.name(of: id) == nil)
                }
            }
            #expect(names.count == model.count)
            if step % 100 == 0 { kept.append((names, model)) }
        }
        kept.append((names, model))
        // Versions of before keep the names they had.
        for (names, model) in kept {
            #expect(names.all == model)
            #expect(names.byID.count == model.count)
            for (name, id) in model {
                #expect(names.id(of: name) == id)
                #expect(names.name(of: id) == name)
            }
            #expect(names.id(of: "none") == nil && names.name(of: 0) == nil)
        }
    }

    @Test func manyTreesAreMadeInOneTransactionAndInMany() throws {
        var options = StoreOptions()
        let disk = MemoryFileSystem()
        options.fileSystem = disk
        options.background = .manual
        let store = try Store(at: "d/s.mako", options: options)
        try store.write { tx in
            for number in 0..<15_000 { _ = try tx.createTree(named: "tree \(number)", keys: .integer) }
            let mark = tx.savepoint()
            for number in 0..<200 { _ = try tx.createTree(named: "undone \(number)", keys: .bytes) }
            try tx.rollback(to: mark)
            #expect(tx.view.tree(named: "undone 7") == nil && tx.view.tree(named: "tree 7") != nil)
        }
        for number in 0..<50 { try store.write { _ = try $0.createTree(named: "single \(number)", keys: .bytes) } }
        try store.close()
        let again = try Store(at: "d/s.mako", options: options)
        let view = try again.snapshot()
        #expect(view.trees.count == 15_050)
        #expect(view.tree(named: "tree 14999") != nil && view.tree(named: "single 49") != nil)
        #expect(view.tree(named: "undone 7") == nil)
    }
}
