/// Reads the trees: first from their roots, then pages that no root reaches.
extension Salvage {
    // MARK: From the roots

    /// Takes the records below a reference whose keys are in a range.
    func visit(_ reference: PageReference, level: Int, _ range: KeyRange, of tree: UInt32) throws(StorageError) {
        guard let page = open(reference, level: level, of: tree) else {
            // Below a lost inner page there may be leaves to find. A lost leaf has no other valid version.
            trees[tree]?.noteDamage(range, isOpen: level > 0)
            return
        }
        reportProgress(.reading, UInt64(reached.count))
        if level == 0 { return try take(page, in: range, of: tree, .tree) }
        let count = page.header.count
        for slot in 0..<count {
            let child = KeyRange(
                lower: slot == 0 ? range.lower : page.key(slot),
                upper: slot + 1 < count ? page.key(slot + 1) : range.upper)
            try visit(page.child(slot), level: level - 1, child, of: tree)
        }
    }

    /// Returns the page of a reference; nil if it is not the expected page.
    private func open(_ reference: PageReference, level: Int, of tree: UInt32) -> SalvagedPage? {
        while pages.count <= level { pages.append(SalvagedPage()) }
        let page = pages[level]
        do throws(StorageError) {
            guard reference.page < source.pageCount else {
                throw .corrupted(page: reference.page, reason: "the file ends before it")
            }
            guard !reached.contains(reference.page) else {
                throw .corrupted(page: reference.page, reason: "two pages refer to it")
            }
            try page.read(reference.page, from: source)
            guard page.header.writeID & 0xff_ffff == reference.tag, page.header.tree == tree,
                page.header.level == level, page.keyKind == trees[tree]?.kind,
                checkpoint.covers(writeID: page.header.writeID)
            else {
                throw .corrupted(page: reference.page, reason: "it is not the one that its parent knows")
            }
            try page.validate()
            _ = reached.insert(reference.page)
            return page
        } catch {
            source.noteDamaged(reference.page)
            report.note("\(trees[tree]?.name ?? "tree \(tree)"): \(error.finding)")
            return nil
        }
    }

    // MARK: Records

    /// Takes the records of a leaf whose keys are in a range.
    func take(_ page: SalvagedPage, in range: KeyRange, of tree: UInt32, _ origin: SalvageTarget.Origin)
        throws(StorageError)
    {
        let isListed = trees[tree]?.state != nil
        for slot in 0..<page.header.count {
            let key = page.key(slot)
            guard range.contains(key) else { continue }
            if origin == .doubtful, isListed, trees[tree]?.isOpen(key) != true { continue }
            switch value(page.value(slot)) {
            case .bytes(let value): try target.add(key, value, to: tree, origin)
            case .runs(let runs):
                try target.add(key, to: tree, origin) { (blob) throws(StorageError) in
                    try source.forEachShare(of: runs, with: overflowPage) { (share) throws(StorageError) in
                        try blob.append(share)
                    }
                }
            case nil: trees[tree]?.noteUnreadable(key)
            }
        }
    }

    private enum Found {
        case bytes([UInt8])
        case runs(ValueExtents)
    }

    private func value(_ value: SalvagedPage.Value) -> Found? {
        switch value {
        case .bytes(let bytes): .bytes(bytes)
        case .overflow(let list) where list.isList: (try? source.runs(of: list, with: overflowPage)).map { .runs($0) }
        case .overflow(let overflow): (try? source.value(of: overflow, with: overflowPage)).map { .bytes($0) }
        case .malformed: nil
        }
    }

    // MARK: Pages that no root reaches

    private struct Candidates {
        var kind: KeyKind
        var leaves: [LeafSweep.Leaf] = []
    }

    /// Searches the file for leaves below lost inner pages, and of trees that the directory does not list.
    func gather() throws(StorageError) {
        guard !checkpoint.isListWhole || trees.values.contains(where: { !$0.openRanges.isEmpty }) else { return }
        var candidates: [UInt32: Candidates] = [:]
        try source.scan { (page, isWhole) throws(StorageError) in
            reportProgress(.gathering, page.number)
            guard !isFixed(page.number), !reached.contains(page.number) else { return }
            let use = checkpoint.use(of: page.number)
            guard use != .dead else { return }
            guard isWhole else {
                if use == .live || !page.isBlank { source.noteDamaged(page.number) }
                return
            }
            guard let kind = page.keyKind, isWanted(page, kind) else { return }
            let tree = page.header.tree
            if use == .live {
                if trees[tree] == nil { try addTree(tree, kind) }
                try take(page, in: .all, of: tree, .stray)
                guard !checkpoint.knowsAllPages else { return }
            }
            guard candidates[tree, default: Candidates(kind: kind)].kind == kind else { return }
            // A page in use takes precedence over all pages of unknown use.
            candidates[tree, default: Candidates(kind: kind)].leaves.append(
                LeafSweep.Leaf(
                    page: page.number, writeID: use == .live ? .max : page.header.writeID, range: page.span))
        }
        for (tree, found) in candidates.sorted(by: { $0.key < $1.key }) { try decide(tree, found) }
    }

    /// Whether it is a leaf that may be part of what is missing.
    private func isWanted(_ page: SalvagedPage, _ kind: KeyKind) -> Bool {
        guard page.header.level == 0, page.header.count > 0, checkpoint.covers(writeID: page.header.writeID),
            (try? page.validate()) != nil
        else { return false }
        guard let tree = trees[page.header.tree] else { return !checkpoint.isListWhole && page.header.tree > 0 }
        return tree.kind == kind && (tree.state == nil || isNearOpen(page, tree))
    }

    private func isNearOpen(_ page: SalvagedPage, _ tree: SourceTree) -> Bool {
        tree.isOpen(page.key(0)) || tree.isOpen(page.key(page.header.count - 1))
    }

    /// Takes the newest record versions from leaves of unknown use, by key range.
    private func decide(_ tree: UInt32, _ candidates: Candidates) throws(StorageError) {
        if trees[tree] == nil { try addTree(tree, candidates.kind) }
        guard trees[tree]?.kind == candidates.kind else { return }
        let page = SalvagedPage()
        for segment in LeafSweep.segments(candidates.leaves) {
            guard (try? page.read(segment.page, from: source)) != nil, (try? page.validate()) != nil,
                page.keyKind == candidates.kind
            else { continue }
            try take(page, in: segment.range, of: tree, .doubtful)
        }
    }

    /// Whether a page belongs to no tree: header, metas and bitmaps.
    private func isFixed(_ page: UInt64) -> Bool {
        let fixed = SpaceMap.bitmapCopies + (SpaceMap.region(of: page) == 0 ? SpaceMap.fixedPages : 0)
        return page % UInt64(SpaceMap.pagesPerRegion) < UInt64(fixed)
    }
}
