import MakoStorage

func sabotaged(_ bug: StaticString) -> Bool { MakoStorage.sabotaged(bug) }
